import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Transactions that lock rows in one order never wait for each other (``Settlement``).
@Suite(.timeLimit(.minutes(1))) struct LockOrderTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func `purchases, then accounts are written in the order of their keys, however they were bought`(
        _ seed: UInt64
    ) async throws {
        try await TestMerchant.with(.sqlite) { shop async throws in
            try await WrittenRows.note("INSERT", in: "redemptions", by: "redemption_key", shop.database)
            try await WrittenRows.note(
                "INSERT", "UPDATE", in: "subscriptions", by: "subscription_key", shop.database)
            try await WrittenRows.note("INSERT", in: "ledger_entries", by: "user_id", shop.database)
            var tokens: [String] = []
            for user in ["dan", "ann", "cid"] as [UserID] {
                tokens.append(try await shop.merchant.describe(user).accountToken)
            }
            var chance = SeededGenerator(seed: seed)
            // The second time, the subscriptions are known and get their next periods.
            for round in [0, 10] {
                shop.clock.milliseconds += 120_000
                let now = shop.clock.milliseconds
                let dates = (0..<Int64(7)).map { now - $0 * 1_000 }.shuffled(using: &chance)
                let purchases = [
                    shop.purchase("coins", round + 1, purchasedAt: dates[0], token: tokens[0]),
                    shop.purchase("coins", round + 5, purchasedAt: dates[1], token: tokens[1]),
                    shop.purchase("coins", round + 9, purchasedAt: dates[2], token: tokens[2]),
                    shop.purchase("pro", round + 2, purchasedAt: dates[3]),
                    shop.purchase("pro", round + 8, purchasedAt: dates[4]),
                    shop.purchase("monthly", round + 4, original: 4, expiresIn: 60_000, purchasedAt: dates[5]),
                    shop.purchase("monthly", round + 7, original: 7, expiresIn: 60_000, purchasedAt: dates[6]),
                ]
                let answer = try await shop.merchant.redeem(
                    VerifiedEvidence(
                        environment: .production, bundleID: TestMerchant.bundleID, purchases: purchases), for: "bob")
                #expect(answer.redeemed.count == purchases.count)
                let written = try await WrittenRows.takeAll(shop.database).reduce(into: [String]()) { names, name in
                    if !names.contains(name) { names.append(name) }
                }
                let keys = [
                    "o/\(round + 2)", "o/\(round + 8)", "s/4", "p/4/\(round + 4)", "s/7", "p/7/\(round + 7)",
                    "t/\(round + 1)", "t/\(round + 5)", "t/\(round + 9)",
                ]
                #expect(
                    written == keys.map { "test/P/com.example.books/\($0)" } + ["ann", "bob", "cid", "dan"])
            }
            #expect(try await shop.findings() == [])
        }
    }
}
