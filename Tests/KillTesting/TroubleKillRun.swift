import Foundation
import TestSupport

/// A store that is killed again and again while payments fail and recover, prices and plans change, and periods are
/// refunded.
public enum TroubleKillRun {
    /// What came of it.
    public struct Totals: Sendable {
        /// The kills.
        public var kills = 0
        /// The kills before an answer in each step: refunds; failures and price increases; the later renewals.
        public var cut = [0, 0, 0]
        /// The subscriptions that were compared with what must become of them.
        public var subscriptions = 0
        /// What differs.
        public var wrong: [String] = []
    }

    /// What happens to a product's subscriptions.
    private enum Trouble: String, CaseIterable {
        case renews = "club1"
        case fails = "club2"
        case recovers = "club3"
        case costsMore = "club4"
        case isDeclined = "club5"
        case changesPlan = "club6"
        case isRefunded = "club7"

        /// The prices of the periods in the end. The sandbox renews twelve times.
        var prices: [String] {
            switch self {
            case .renews, .recovers: Array(repeating: "0.99", count: 13)
            case .fails, .isDeclined, .isRefunded: ["0.99"]
            case .costsMore: ["0.99"] + Array(repeating: "1.29", count: 12)
            case .changesPlan: ["0.99"] + Array(repeating: "0.49", count: 12)
            }
        }

        /// The news after the purchase, oldest first.
        var news: [String] {
            let end = ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY"]
            func renewals(_ count: Int) -> [String] { Array(repeating: "DID_RENEW", count: count) + end }
            let failed = "DID_FAIL_TO_RENEW/GRACE_PERIOD"
            return switch self {
            case .renews: renewals(12)
            case .fails: [failed, "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY"]
            case .recovers: [failed, "DID_RENEW/BILLING_RECOVERY"] + renewals(11)
            case .costsMore: ["PRICE_INCREASE/PENDING", "PRICE_INCREASE/ACCEPTED"] + renewals(12)
            case .isDeclined: ["PRICE_INCREASE/PENDING", "EXPIRED/PRICE_INCREASE"]
            case .changesPlan: ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE"] + renewals(12)
            case .isRefunded: ["REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"]
            }
        }
    }

    private static let accounts = 10
    private static let emails = (0..<accounts).map { "troubled\($0)@example.com" }
    /// At the end of the period, and on 13 of the 60 days after it.
    private static let declinedPayments = 14

    /// Runs it on a store of its own.
    ///
    /// - Parameters:
    ///   - kills: the kills in the step of refunds, and at each date of the later renewals until one is cut. The
    ///     failures and price increases between them have one at each of ``troubledDays``.
    ///   - seed: the seed of the moments of the kills.
    public static func run(
        _ backend: Backend, _ programs: Programs, kills: Int, seed: UInt64
    ) async throws -> Totals {
        try await StoreProcess.with(backend, programs, seed: seed) { try await execute($0, kills, seed) }
    }

    private static func execute(_ store: StoreProcess, _ kills: Int, _ seed: UInt64) async throws -> Totals {
        var chance = SeededGenerator(seed: seed)
        var totals = Totals()
        for email in emails { try await store.subscribe(email, password: "banana-banana") }
        try await prepare(store)
        let refunds = try await transactions(of: .isRefunded, store)
        try await kill(store, kills, in: 0, &chance, &totals) {
            for id in refunds {
                guard await Self.refund(id, store) else { return false }
            }
            return true
        }
        // Each date has less work than the one before.
        for (days, latest) in zip(troubledDays, [40, 20, 10, 5]) {
            let date = text(days: days)
            try await kill(store, 1, in: 1, within: latest, &chance, &totals) { await store.setClock(date) }
        }
        _ = try await store.ask("DELETE", "sandbox/payment-rules/late", nil, status: 204)
        // A busy machine may oversleep a kill until the date is answered. The next date has renewals of its own.
        for days in [220, 325, 430] as [Double] {
            let date = text(days: days)
            let times = totals.cut[2] > 0 ? 0 : kills
            try await kill(store, times, in: 2, within: 40, &chance, &totals) { await store.setClock(date) }
        }
        for email in emails { try await compare(email, store, &totals) }
        return totals
    }

    /// The days of failures and price increases. The first renewals are due after 28 to 31 days. The store charges
    /// those that fail again 1, 2, 4, 7 and 10 days later, within the grace period.
    public static let troubledDays: [Double] = [31.5, 33, 36, 40]

    private static func text(days: Double) -> String {
        ISO8601DateFormatter().string(from: Date().addingTimeInterval(days * 86_400))
    }

    /// Kills the store while it answers, and then lets it answer.
    /// - Parameters:
    ///   - index: which of the steps is counted.
    ///   - latest: when the store is killed at the latest, in milliseconds after the request.
    ///   - step: asks the store for something that can be repeated; false when there was no answer.
    private static func kill(
        _ store: StoreProcess, _ times: Int, in index: Int, within latest: Int = 80,
        _ chance: inout SeededGenerator, _ totals: inout Totals,
        _ step: @escaping @Sendable () async -> Bool
    ) async throws {
        for _ in 0..<times {
            async let answered = step()
            try await Task.sleep(for: .milliseconds(Int.random(in: 2...latest, using: &chance)))
            guard await store.kill() else { throw KillTestError("the store died by itself") }
            totals.kills += 1
            if await !answered { totals.cut[index] += 1 }
            try await store.start()
        }
        guard await step() else { throw KillTestError("the last attempt of a step failed") }
    }

    // MARK: The troubles

    private static func prepare(_ store: StoreProcess) async throws {
        func ask(_ method: String, _ path: String, _ body: [String: Any], status: UInt) async throws {
            _ = try await store.ask(method, path, JSONSerialization.data(withJSONObject: body), status: status)
        }
        let bundle = StoreProcess.bundleID
        try await ask("PUT", "apps/\(bundle)/grace-period", ["days": 16], status: 200)
        for (name, trouble) in [("never", Trouble.fails), ("late", Trouble.recovers)] {
            try await ask(
                "POST", "sandbox/payment-rules", ["name": name, "productId": trouble.rawValue], status: 201)
        }
        for email in emails {
            for trouble in [Trouble.costsMore, .isDeclined] {
                var increase: [String: Any] = ["bundleId": bundle, "productId": trouble.rawValue, "account": email]
                increase["price"] = "1.29"
                try await ask("POST", "sandbox/price-increases", increase, status: 201)
                increase["price"] = nil
                increase["accepts"] = trouble == .costsMore
                try await ask("POST", "sandbox/price-increases/answer", increase, status: 200)
            }
        }
        for id in try await transactions(of: .changesPlan, store) {
            let plan = StoreProcess.lowerPlan(of: Trouble.changesPlan.rawValue)
            try await ask("PATCH", "sandbox/subscriptions/\(id)", ["productId": plan], status: 200)
        }
    }

    /// The first periods of a product.
    private static func transactions(of trouble: Trouble, _ store: StoreProcess) async throws -> [String] {
        var found: [String] = []
        for email in emails {
            found += try await rows(of: email, store).filter { $0.productId == trouble.rawValue }.map(\.transactionId)
        }
        return found
    }

    /// Refunds a transaction.
    /// - Returns: false when the store was killed before it answered.
    private static func refund(_ id: String, _ store: StoreProcess) async -> Bool {
        do {
            _ = try await store.ask(
                "POST", "sandbox/transactions/\(id)/refund", Data("{\"reason\":\"other\"}".utf8), status: 200)
            return true
        } catch let error as KillTestError {
            // The answer to a repeated request: the transaction was refunded before.
            return error.description.contains("/refund: 409 ")
        } catch {
            return false
        }
    }

    // MARK: What became of them

    private struct Page<Row: Decodable & Sendable>: Decodable, Sendable {
        var rows: [Row]
    }

    private struct Row: Decodable, Sendable {
        var transactionId: String
        var originalTransactionId: String
        var productId: String
        var price: String
        var purchaseDate: String
        var expiresDate: String?
        var refunded: String?
    }

    private struct Attempt: Decodable, Sendable {
        var productId: String
        var state: String
    }

    private struct Subscription: Decodable, Sendable {
        struct News: Decodable, Sendable {
            var type: String
            var subtype: String?
        }

        var originalTransactionId: String
        var state: String
        var news: [News]
    }

    /// The account's transactions, the oldest first.
    private static func rows(of email: String, _ store: StoreProcess) async throws -> [Row] {
        let answer = try await store.ask(
            "GET", "sandbox/transactions?account=\(email)&limit=1000", nil, status: 200)
        return try JSONDecoder().decode(Page<Row>.self, from: answer).rows.reversed()
    }

    private static func compare(_ email: String, _ store: StoreProcess, _ totals: inout Totals) async throws {
        let all = try await rows(of: email, store)
        let answer = try await store.ask("GET", "sandbox/subscriptions?account=\(email)", nil, status: 200)
        let subscriptions = try JSONDecoder().decode([Subscription].self, from: answer)
        for trouble in Trouble.allCases {
            let name = "\(email), \(trouble.rawValue)"
            guard let first = all.first(where: { $0.productId == trouble.rawValue }),
                let subscription = subscriptions.first(where: { $0.originalTransactionId == first.transactionId })
            else {
                totals.wrong.append("\(name) is missing")
                continue
            }
            totals.subscriptions += 1
            let periods = all.filter { $0.originalTransactionId == first.transactionId }
            if periods.map(\.price) != trouble.prices { totals.wrong.append("\(name): paid \(periods.map(\.price))") }
            for (earlier, later) in zip(periods, periods.dropFirst())
            where earlier.expiresDate == nil || earlier.expiresDate != later.purchaseDate {
                totals.wrong.append("\(name): \(later.transactionId) does not follow")
            }
            let refunds = periods.compactMap(\.refunded)
            let expected = trouble == .isRefunded ? ["0.99"] : []
            if refunds != expected { totals.wrong.append("\(name): \(refunds) refunded") }
            let news = subscription.news.reversed().map { item in
                [item.type, item.subtype].compactMap(\.self).joined(separator: "/")
            }
            if news != ["SUBSCRIBED/INITIAL_BUY"] + trouble.news { totals.wrong.append("\(name): \(news)") }
            let state = trouble == .isRefunded ? "revoked" : "expired"
            if subscription.state != state { totals.wrong.append("\(name) is \(subscription.state)") }
        }
        let attempts = try JSONDecoder().decode(
            Page<Attempt>.self,
            from: try await store.ask("GET", "sandbox/attempts?account=\(email)&limit=1000", nil, status: 200)
        ).rows
        let declined = attempts.count { $0.productId == Trouble.fails.rawValue && $0.state == "declined" }
        if declined != declinedPayments { totals.wrong.append("\(email): \(declined) payments were declined") }
    }
}
