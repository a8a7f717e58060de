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
        /// The requests that had arrived before: after a kill, or after the receiver had refused.
        public var repeated = 0
        /// The steps of the clock from retry to retry.
        public var retries = 0
        /// What is missing, changed or out of order.
        public var wrong: [String] = []
    }

    private static let accounts = 4
    /// The most steps of the clock from retry to retry. Each notification has five retries.
    private static let mostSteps = 12

    /// Runs it on a store of its own.
    ///
    /// - Parameters:
    ///   - seed: the seed of the moments of the kills, and of the receiver's answers.
    ///   - isUnsteady: whether the receiver refuses half of what it gets, in production, which sends that again. The
    ///     store is also killed during the first retries. At the end the receiver recovers, and the operator sends
    ///     again what was given up.
    public static func run(
        _ backend: Backend, _ programs: Programs, kills: Int, seed: UInt64, isUnsteady: Bool = false
    ) async throws -> Totals {
        let log = NotificationLog(refusing: isUnsteady ? SeededGenerator(seed: seed) : nil)
        let totals = Mutex(Totals())
        try await LoopbackServer.with(log.router) { url in
            let found = try await StoreProcess.with(backend, programs, seed: seed) { store in
                let run = Run(
                    store: store, control: "\(await store.controlPort)/control/v1",
                    environment: isUnsteady ? "production" : "sandbox", log: log)
                return try await run.execute(url, kills, seed)
            }
            totals.withLock { $0 = found }
        }
        return totals.withLock { $0 }
    }

    /// A run on a store.
    private struct Run: Sendable {
        let store: StoreProcess
        /// The base URL of the control port's routes.
        let control: String
        /// `sandbox` or `production`.
        let environment: String
        let log: NotificationLog

        /// A notification in the operator's list.
        private struct Row: Decodable {
            var notificationUUID: String
            /// In ISO 8601.
            var nextAttemptDate: String?
        }

        private var notifications: String { "\(control)/\(environment)/notifications" }

        func execute(_ url: URL, _ kills: Int, _ seed: UInt64) async throws -> Totals {
            var chance = SeededGenerator(seed: seed)
            var totals = Totals()
            _ = try await HTTPReply(
                "PUT", "\(control)/\(environment)/notification-urls/\(StoreProcess.bundleID)",
                body: Array("{\"url\":\"\(url.absoluteString)hook\"}".utf8)
            ).successful()
            let emails = (0..<NotificationKillRun.accounts).map { "subscriber\($0)@example.com" }
            for email in emails { try await store.subscribe(email, password: "banana-banana", in: environment) }
            let end = ISO8601DateFormatter().string(from: Date().addingTimeInterval(430 * 86_400))
            try await move(to: end, kills: kills, &chance, &totals)
            // From retry to retry; without retries nothing waits.
            var steps = 0
            while let next = try await rows("waiting").compactMap(\.nextAttemptDate).max() {
                guard steps < NotificationKillRun.mostSteps else { throw KillTestError("the retries do not end") }
                try await move(to: minute(after: next), kills: steps < 2 ? 1 : 0, &chance, &totals)
                steps += 1
            }
            totals.retries = steps
            for row in try await rows("delivered") where !log.hasAccepted(row.notificationUUID) {
                totals.wrong.append("\(row.notificationUUID) is delivered and was refused")
            }
            log.recover()
            for row in try await rows("failed") {
                _ = try await HTTPReply("POST", "\(notifications)/\(row.notificationUUID)/resend").successful()
            }
            try await settle()
            for row in try await rows("waiting") + rows("failed") {
                totals.wrong.append("\(row.notificationUUID) is not delivered")
            }
            var ledger: Set<String> = []
            for email in emails {
                ledger.formUnion(try await store.ledger(of: email, in: environment).map(\.transactionId))
            }
            log.compare(with: ledger, &totals)
            return totals
        }

        /// Moves the clock to a date, and kills the store meanwhile. Returns when nothing is to be sent then.
        private func move(
            to date: String, kills: Int, _ chance: inout SeededGenerator, _ totals: inout Totals
        ) async throws {
            for _ in 0..<kills {
                async let answered = store.setClock(date, in: environment)
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...600, using: &chance)))
                guard await store.kill() else { throw KillTestError("the store died by itself") }
                totals.kills += 1
                _ = await answered
                try await store.start()
            }
            guard await store.setClock(date, in: environment) else {
                throw KillTestError("the last step of the clock failed")
            }
            try await settle()
        }

        /// Waits until all that is to be sent by the store's clock has been sent.
        private func settle() async throws {
            let late = ContinuousClock.now + .seconds(40)
            while try await isDue() {
                guard .now < late else { throw KillTestError("notifications still wait") }
                try await Task.sleep(for: .milliseconds(100))
            }
        }

        private func isDue() async throws -> Bool {
            struct Clock: Decodable { var now: String }
            let now = try await HTTPReply("GET", "\(control)/\(environment)/clock").successful()
                .decoded(Clock.self).now
            return try await rows("waiting").contains { row in
                // Both are in UTC. Parts of seconds follow.
                row.nextAttemptDate.map { $0.prefix(19) <= now.prefix(19) } ?? true
            }
        }

        private func minute(after date: String) throws -> String {
            let formatter = ISO8601DateFormatter()
            guard let time = formatter.date(from: "\(date.prefix(19))Z") else {
                throw KillTestError("“\(date)” is no date")
            }
            return formatter.string(from: time.addingTimeInterval(60))
        }

        /// All notifications in a state.
        private func rows(_ state: String) async throws -> [Row] {
            struct Page: Decodable {
                var rows: [Row]
                var next: String?
            }
            var rows: [Row] = []
            var before = ""
            while true {
                let page = try await HTTPReply("GET", "\(notifications)?state=\(state)&limit=200\(before)")
                    .successful().decoded(Page.self)
                rows += page.rows
                guard let next = page.next else { return rows }
                before = "&before=\(next)"
            }
        }
    }
}

/// The app's server: keeps what it is sent, in the order of the first arrivals.
private final class NotificationLog: Sendable {
    private struct Entry {
        var body: [UInt8]
        var count = 0
        /// Whether it was answered with success.
        var isAccepted = false
    }

    private struct State {
        /// Decides what is refused; nil for nothing.
        var chance: SeededGenerator?
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

    private let state: Mutex<State>

    /// - Parameter chance: decides which half is refused; nil to accept all.
    init(refusing chance: SeededGenerator?) { state = Mutex(State(chance: chance)) }

    var router: Router<BasicRequestContext> {
        let router = Router()
        router.post("hook") { request, _ in
            let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
            return Response(status: self.add(body))
        }
        return router
    }

    /// Accepts everything from now on.
    func recover() { state.withLock { $0.chance = nil } }

    /// Whether a notification was answered with success.
    func hasAccepted(_ id: String) -> Bool { state.withLock { $0.entries[id]?.isAccepted ?? false } }

    /// Returns the status to answer with.
    private func add(_ body: [UInt8]) -> HTTPResponse.Status {
        let id = try? Self.payload(body).notificationUUID
        return state.withLock { state in
            guard let id else {
                state.wrong.append("a body of \(body.count) bytes is no notification")
                return .badRequest
            }
            if state.entries[id] == nil { state.order.append(id) }
            var entry = state.entries[id] ?? Entry(body: body)
            if entry.body != body { state.wrong.append("\(id) came with another payload") }
            entry.count += 1
            let isRefused = state.chance?.isHeads() ?? false
            if !isRefused { entry.isAccepted = true }
            state.entries[id] = entry
            return isRefused ? .serviceUnavailable : .ok
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
    /// one after the other. All was accepted in the end.
    func compare(with ledger: Set<String>, _ totals: inout NotificationKillRun.Totals) {
        let state = state.withLock { $0 }
        totals.arrived = state.order.count
        totals.repeated = state.entries.values.reduce(0) { $0 + $1.count - 1 }
        totals.wrong += state.wrong
        var told: [String: Int] = [:]
        var ends: [String: Double] = [:]
        for (id, entry) in state.entries where !entry.isAccepted { totals.wrong.append("\(id) was never accepted") }
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

extension SeededGenerator {
    /// One of two.
    fileprivate mutating func isHeads() -> Bool { Bool.random(using: &self) }
}
