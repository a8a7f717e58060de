import ControlWire
import Foundation
import StoreReceipts
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import StoreServer

/// A server of an app that answers at random with success, an error, half an answer or nothing.
private final class UnsteadyReceiver: Sendable {
    struct Notes {
        var chance: SeededGenerator
        /// Whether it has recovered, and answers everything with success.
        var isWell = false
        /// The requests of each `notificationUUID`.
        var attempts: [String: Int] = [:]
        /// Those that it has answered with success.
        var accepted: Set<String> = []
        /// The `notificationUUID` of each first request about a subscription, in the order in which they came.
        var firsts: [String: [String]] = [:]
        var unreadable = 0
    }

    private let server: RawServer
    private let box: Box

    private final class Box: Sendable {
        let notes: Mutex<Notes>
        init(_ seed: UInt64) { notes = Mutex(Notes(chance: SeededGenerator(seed: seed))) }
    }

    var url: String { server.url }
    var notes: Notes { box.notes.withLock { $0 } }

    init(seed: UInt64) throws {
        let box = Box(seed)
        self.box = box
        server = try RawServer { connection, _ in
            let text = connection.read(until: "}")
            guard let answer = Self.answer(text, box) else { return }
            connection.write(answer)
        }
    }

    deinit { server.close() }

    func recover() { box.notes.withLock { $0.isWell = true } }

    private static func answer(_ request: String, _ box: Box) -> String? {
        guard let (id, original) = try? read(request) else {
            box.notes.withLock { $0.unreadable += 1 }
            return nil
        }
        return box.notes.withLock { notes in
            if notes.attempts[id] == nil, let original { notes.firsts[original, default: []].append(id) }
            notes.attempts[id, default: 0] += 1
            switch notes.isWell ? 0 : Int.random(in: 0..<6, using: &notes.chance) {
            case 0, 1, 2:
                notes.accepted.insert(id)
                return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            case 3: return "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
            case 4: return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhal"
            default: return nil
            }
        }
    }

    private static func read(_ request: String) throws -> (id: String, original: String?) {
        let body = try #require(request.range(of: "\r\n\r\n").map { request[$0.upperBound...] })
        let payload = try payload(try object(Data(body.utf8))["signedPayload"])
        let data = try #require(payload["data"] as? [String: Any])
        let original = try data["signedTransactionInfo"].map {
            try Self.payload($0)["originalTransactionId"] as? String
        }
        return (try #require(payload["notificationUUID"] as? String), original ?? nil)
    }

    private static func object(_ json: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    private static func payload(_ signed: Any?) throws -> [String: Any] {
        try object(Data(try SignedPayload.parse(Array(try #require(signed as? String).utf8)).payload))
    }
}

/// The number of notifications, all in the outbox of one store. `make soak` has 10,000.
private let wanted = ProcessInfo.processInfo.environment["CORNERSTORE_TEST_NOTIFICATIONS"].flatMap(Int.init) ?? 100
/// The minutes that `make soak` may take: one outbox cannot be split over several tests.
private let minutesOfSoak = 30

/// Notifications to a server that fails at random.
@Suite(
    "A receiver that fails at random",
    wanted > 1_000 ? TimeLimitTrait.timeLimit(.minutes(minutesOfSoak)) : TimeLimitTrait.timeLimit(.minutes(1)))
struct FailingReceiverTests {
    /// The notifications that wait: all, and those that are due.
    private static func waiting(_ store: Store) async throws -> (all: Int, due: Int) {
        let now = store.clock.milliseconds
        return try await store.database.read { connection in
            let row = try connection.queryOne(
                """
                SELECT count(*), count(CASE WHEN due_at <= $1 THEN 1 END) FROM notifications WHERE state = 'waiting'
                """, [now])
            return (try row?.int(0) ?? 0, try row?.int(1) ?? 0)
        }
    }

    /// Waits until nothing is due.
    private static func settle(_ server: RunningServer) async throws {
        let changes = server.application.changes
        while true {
            let snapshot = changes.snapshot
            guard try await waiting(server.application.production).due > 0 else { return }
            _ = try await changes.wait(since: snapshot, upTo: .milliseconds(100))
        }
    }

    @Test(arguments: Backend.available)
    func nothingIsLostAndTheOrderIsKept(_ backend: Backend) async throws {
        try await backend.withServerDatabase(ready: StoreDatabases.migrations) { url, prefix async throws in
            try await withServer { configuration in
                (configuration.databaseURL, configuration.schemaPrefix) = (url, prefix)
            } _: { server async throws in
                let receiver = try UnsteadyReceiver(seed: 1)
                let route = ControlRoute.notifications(
                    .setReceiver(.production, bundle: RunningServer.bundleID.rawValue))
                let change = try JSONEncoder().encode(ControlAPI.NotificationReceiverChange(url: receiver.url))
                let reply = try await server.control("PUT", route.path, String(decoding: change, as: UTF8.self))
                #expect(reply.status == 200, "\(reply.text)")

                let store = server.application.production
                let months = 50
                let customers = max(wanted / months, 2)
                for number in 0..<customers { try await Self.subscribe("\(number)@example.com", server) }
                try await store.changeClock { try $0.advance(by: Int64(months) * 31 * 86_400_000) }
                try await Self.settle(server)
                #expect(receiver.notes.attempts.count >= customers * months)
                // The pauses of Apple's retries, and what renews meanwhile.
                for hours in [1, 12, 24, 48, 72] as [Int64] {
                    try await store.changeClock { try $0.advance(by: hours * 3_600_000 + 60_000) }
                    try await Self.settle(server)
                }
                let notes = receiver.notes
                #expect(notes.unreadable == 0)
                #expect(notes.attempts.values.allSatisfy { $0 <= 6 })
                let rows = try await Self.rows(server)
                #expect(rows.count == notes.attempts.count && rows.count >= customers * months)
                try Self.expectOrder(notes, rows)
                for row in rows {
                    let attempts = try #require(notes.attempts[row.notificationUUID])
                    #expect(row.sendAttempts.count == attempts)
                    #expect((row.state == "delivered") == notes.accepted.contains(row.notificationUUID))
                    #expect(row.state != "failed" || attempts == 6)
                }
                // The server has recovered, and the operator sends again what was given up.
                receiver.recover()
                for row in rows where row.state == "failed" {
                    let route = ControlRoute.notifications(.resend(.production, id: row.notificationUUID))
                    #expect(try await server.control("POST", route.path).status == 200)
                }
                try await Self.settle(server)
                try await store.changeClock { try $0.advance(by: 73 * 3_600_000) }
                try await Self.settle(server)
                #expect(try await Self.waiting(store).all == 0)
                #expect(receiver.notes.accepted.isSuperset(of: notes.attempts.keys))
            }
        }
    }

    /// Compares the order in which each subscription's notifications first arrived with the order in which they were
    /// written. Each was written once, so that no two have the same place.
    private static func expectOrder(
        _ notes: UnsteadyReceiver.Notes, _ rows: [ControlAPI.Notification]
    ) throws {
        var written: [String: [(number: Int64, id: String)]] = [:]
        for row in rows {
            guard let original = row.originalTransactionId else { continue }
            let number = try #require(Int64(row.number))
            written[original, default: []].append((number, row.notificationUUID))
        }
        #expect(Set(written.keys) == Set(notes.firsts.keys))
        for (original, places) in written {
            let inOrder = places.sorted { $0.number < $1.number }
            #expect(zip(inOrder, inOrder.dropFirst()).allSatisfy { $0.number < $1.number }, "\(original)")
            #expect(notes.firsts[original] == inOrder.map { $0.id }, "\(original)")
        }
    }

    private static func subscribe(_ email: String, _ server: RunningServer) async throws {
        let made = try await server.control(
            "POST", ControlRoute.createAccount(.production).path,
            #"{"email":"\#(email)","password":"a good password"}"#)
        #expect(made.status < 300, "\(made.text)")
        let signIn = SignInRequest(email: email, password: "a good password", deviceID: UUID())
        let token = try await server.device(.signIn, .production, body: signIn).decoded(SignInResponse.self).token
        let bought = try await server.device(
            .purchases, .production, token: token, body: server.purchase("club.monthly"))
        #expect(bought.status == 200, "\(bought.text)")
    }

    /// All notifications.
    private static func rows(_ server: RunningServer) async throws -> [ControlAPI.Notification] {
        var rows: [ControlAPI.Notification] = []
        while true {
            let route = ControlRoute.notifications(.list(.production, before: rows.last?.number, limit: 200))
            let page = try await server.control("GET", route.path)
                .decoded(ControlAPI.Page<ControlAPI.Notification>.self)
            rows += page.rows
            guard page.rows.count == 200 else { return rows }
        }
    }
}
