import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StoreReceipts
import Synchronization
import TestSupport

/// A store that is killed again and again while it sends the notifications of many renewals.
public enum NotificationKillRun {
    /// What came of it.
    public struct Totals: Sendable {
        /// The kills.
        public var kills = 0
        /// The notifications that arrived, each once.
        public var arrived = 0
        /// Those that arrived again after a kill.
        public var repeated = 0
        /// What is missing, changed or out of order.
        public var wrong: [String] = []
    }

    private static let accounts = 4

    /// Runs it on a store of its own.
    ///
    /// - Parameter seed: the seed of the moments of the kills.
    public static func run(
        _ backend: Backend, _ programs: Programs, kills: Int, seed: UInt64
    ) async throws -> Totals {
        let log = NotificationLog()
        let totals = Mutex(Totals())
        try await LoopbackServer.with(log.router) { url in
            try await TemporaryDirectory.with { directory in
                try await backend.withServerDatabase { database, prefix in
                    let store = try await StoreProcess(
                        programs, folder: directory.url, databaseURL: database, schemaPrefix: prefix)
                    do {
                        let found = try await execute(store, url, log, kills, seed)
                        totals.withLock { $0 = found }
                        await store.stop()
                    } catch {
                        let end = store.logEnd
                        await store.stop()
                        throw KillTestError("seed \(seed), \(backend): \(error)\n\(end)")
                    }
                }
            }
        }
        return totals.withLock { $0 }
    }

    private static func execute(
        _ store: StoreProcess, _ url: URL, _ log: NotificationLog, _ kills: Int, _ seed: UInt64
    ) async throws -> Totals {
        var chance = SeededGenerator(seed: seed)
        var totals = Totals()
        let control = try control(of: store)
        _ = try await HTTPReply(
            "PUT", "\(control)/notification-urls/\(StoreProcess.bundleID)",
            body: Array("{\"url\":\"\(url.absoluteString)hook\"}".utf8)
        ).successful()
        let emails = (0..<accounts).map { "subscriber\($0)@example.com" }
        for email in emails { try await store.subscribe(email, password: "banana-banana") }
        let end = ISO8601DateFormatter().string(from: Date().addingTimeInterval(430 * 86_400))
        for _ in 0..<kills {
            async let answered = store.setClock(end)
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...600, using: &chance)))
            guard await store.kill() else { throw KillTestError("the store died by itself") }
            totals.kills += 1
            _ = await answered
            try await store.start()
        }
        guard await store.setClock(end) else { throw KillTestError("the last step of the clock failed") }
        let late = ContinuousClock.now + .seconds(40)
        while try await isWaiting(control) {
            guard .now < late else { throw KillTestError("notifications still wait") }
            try await Task.sleep(for: .milliseconds(100))
        }
        var ledger: Set<String> = []
        for email in emails { ledger.formUnion(try await store.ledger(of: email).map(\.transactionId)) }
        log.compare(with: ledger, &totals)
        return totals
    }

    /// The store's control port, which has the same address after each start.
    private static func control(of store: StoreProcess) throws -> String {
        struct Addresses: Decodable { var control: String }
        let file = try Data(contentsOf: store.data.appendingPathComponent("addresses.json"))
        return try JSONDecoder().decode(Addresses.self, from: file).control + "/control/v1/sandbox"
    }

    private static func isWaiting(_ control: String) async throws -> Bool {
        struct Page: Decodable {
            struct Row: Decodable { var notificationUUID: String }
            var rows: [Row]
        }
        return try await !HTTPReply("GET", "\(control)/notifications?state=waiting&limit=1").successful()
            .decoded(Page.self).rows.isEmpty
    }
}

/// The app's server: keeps what it is sent, in the order of the first arrivals.
private final class NotificationLog: Sendable {
    private struct Entry {
        var body: [UInt8]
        var count = 1
    }

    private struct State {
        var order: [String] = []
        var entries: [String: Entry] = [:]
        var wrong: [String] = []
    }

    private struct Payload: Decodable {
        struct Data: Decodable { var signedTransactionInfo: String }

        var notificationType: String
        var notificationUUID: String
        var data: Data
    }

    private struct Period: Decodable {
        var transactionId: String
        var originalTransactionId: String
        var expiresDate: Double
    }

    private let state = Mutex(State())

    var router: Router<BasicRequestContext> {
        let router = Router()
        router.post("hook") { request, _ in
            let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
            self.add(body)
            return Response(status: .ok)
        }
        return router
    }

    private func add(_ body: [UInt8]) {
        let id = try? Self.payload(body).notificationUUID
        state.withLock { state in
            guard let id else { return state.wrong.append("a body of \(body.count) bytes is no notification") }
            if let known = state.entries[id] {
                if known.body != body { state.wrong.append("\(id) came with another payload") }
                state.entries[id]?.count += 1
            } else {
                state.order.append(id)
                state.entries[id] = Entry(body: body)
            }
        }
    }

    private static func payload(_ body: [UInt8]) throws -> Payload {
        struct Body: Decodable { var signedPayload: String }
        let text = try JSONDecoder().decode(Body.self, from: Data(body)).signedPayload
        return try decoded(text, as: Payload.self)
    }

    private static func decoded<Value: Decodable>(_ signed: String, as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(try SignedPayload.parse(Array(signed.utf8)).payload))
    }

    /// Compares what arrived with the transactions of the ledger: each was told of once, and those of a subscription
    /// one after the other.
    func compare(with ledger: Set<String>, _ totals: inout NotificationKillRun.Totals) {
        let state = state.withLock { $0 }
        totals.arrived = state.order.count
        totals.repeated = state.entries.values.reduce(0) { $0 + $1.count - 1 }
        totals.wrong += state.wrong
        var told: [String: Int] = [:]
        var ends: [String: Double] = [:]
        for id in state.order {
            guard let entry = state.entries[id], let payload = try? Self.payload(entry.body),
                let period = try? Self.decoded(payload.data.signedTransactionInfo, as: Period.self)
            else {
                totals.wrong.append("\(id) has no transaction")
                continue
            }
            guard ["SUBSCRIBED", "DID_RENEW"].contains(payload.notificationType) else { continue }
            told[period.transactionId, default: 0] += 1
            if let earlier = ends[period.originalTransactionId], earlier >= period.expiresDate {
                totals.wrong.append("\(period.transactionId) came after a later period")
            }
            ends[period.originalTransactionId] = period.expiresDate
        }
        for id in ledger.subtracting(told.keys).sorted() { totals.wrong.append("nobody was told of \(id)") }
        for (id, count) in told where count != 1 || !ledger.contains(id) {
            totals.wrong.append("\(id) was told of \(count) times")
        }
    }
}
