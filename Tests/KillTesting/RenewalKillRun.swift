import Foundation
import TestSupport

/// A store that is killed again and again while steps of its clock renew many subscriptions.
public enum RenewalKillRun {
    /// What came of it.
    public struct Totals: Sendable {
        /// The kills.
        public var kills = 0
        /// The kills before the step was answered.
        public var cut = 0
        /// The renewals in the ledger.
        public var renewals = 0
        /// What is missing, doubled or has a wrong date.
        public var wrong: [String] = []
    }

    private static let accounts = 6
    /// The sandbox renews twelve times.
    private static let periods = 13
    /// How far the clock moves, in seconds: 430 days, in which all periods end.
    private static let length = 430.0 * 86_400

    /// Runs it on a store of its own.
    ///
    /// - Parameters:
    ///   - kills: how many, at least one.
    ///   - seed: the seed of the moments of the kills.
    public static func run(
        _ backend: Backend, _ programs: Programs, kills: Int, seed: UInt64
    ) async throws -> Totals {
        try await StoreProcess.with(backend, programs, seed: seed) { try await execute($0, kills, seed) }
    }

    private static func execute(_ store: StoreProcess, _ kills: Int, _ seed: UInt64) async throws -> Totals {
        var chance = SeededGenerator(seed: seed)
        var totals = Totals()
        let emails = (0..<accounts).map { "subscriber\($0)@example.com" }
        for email in emails { try await store.subscribe(email, password: "banana-banana") }
        // A busy machine may oversleep a kill until the date is answered. The next date has renewals of its own.
        let begin = Date()
        let dates = (1...kills).map { kill in
            ISO8601DateFormatter().string(from: begin + Self.length * Double(kill) / Double(kills))
        }
        for date in dates {
            async let answered = store.setClock(date)
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...120, using: &chance)))
            guard await store.kill() else { throw KillTestError("the store died by itself") }
            totals.kills += 1
            if await !answered { totals.cut += 1 }
            try await store.start()
        }
        guard let end = dates.last, await store.setClock(end) else {
            throw KillTestError("the last step of the clock failed")
        }
        for email in emails {
            let rows = try await store.ledger(of: email)
            for (product, periods) in Dictionary(grouping: rows, by: \.productId) {
                totals.renewals += periods.count - 1
                if periods.count != Self.periods {
                    totals.wrong.append("\(email) has \(periods.count) periods of \(product)")
                }
                if Set(periods.map(\.originalTransactionId)).count != 1 {
                    totals.wrong.append("\(email) has several original ids for \(product)")
                }
                for (earlier, later) in zip(periods, periods.dropFirst())
                where earlier.expiresDate == nil || earlier.expiresDate != later.purchaseDate {
                    totals.wrong.append("\(email): \(later.transactionId) of \(product) does not follow")
                }
            }
            if Set(rows.map(\.productId)).count != StoreProcess.subscriptions.count {
                totals.wrong.append("\(email) lacks subscriptions")
            }
        }
        return totals
    }
}
