import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

@Suite(.timeLimit(.minutes(1))) struct LedgerTests {
    @Test(arguments: Backend.available) func spendingIsOnceAndNeverBelowZero(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            let spend = SpendRequest(key: "k1", currency: "gems", amount: 60, note: "a sword")
            let first = try await shop.merchant.spend(spend, by: "ann")
            #expect(first == SpendAnswer(key: "k1", currency: "gems", amount: 60, balance: 40, entry: 2))
            #expect(try await shop.merchant.spend(spend, by: "ann") == first)
            #expect(try await shop.gems("ann") == 40)
            func refusal(_ request: SpendRequest, _ user: UserID = "ann") async throws -> MerchantErrorCode? {
                try await shop.code { _ = try await shop.merchant.spend(request, by: user) }
            }
            #expect(try await refusal(SpendRequest(key: "k2", currency: "gems", amount: 41)) == .insufficientBalance)
            #expect(try await refusal(SpendRequest(key: "k1", currency: "gems", amount: 61)) == .keyReused)
            #expect(try await refusal(SpendRequest(key: "k3", currency: "gems", amount: 0)) == .invalidRequest)
            #expect(try await refusal(SpendRequest(key: "", currency: "gems", amount: 1)) == .invalidRequest)
            #expect(
                try await refusal(SpendRequest(key: "k1", currency: "gems", amount: 1), "bob") == .insufficientBalance)
            // A refusal leaves the key free.
            _ = try await shop.merchant.spend(SpendRequest(key: "k2", currency: "gems", amount: 40), by: "ann")
            let page = try await shop.merchant.history(of: "ann", "gems", before: nil, limit: 2)
            #expect(page.entries.map(\.amount) == [-40, -60])
            #expect(page.next == 2)
            let rest = try await shop.merchant.history(of: "ann", "gems", before: page.next, limit: 2)
            #expect(rest.entries.map(\.kind) == [.grant])
            #expect(rest.next == nil)
            #expect(try await shop.findings() == [])
        }
    }

    /// A key that was used is found by writing it: what was taken before that comes back.
    @Test(arguments: Backend.available) func aKeyThatWasUsedTakesNothingWhateverIsThere(_ backend: Backend) async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), shop.purchase("passing", 2), for: "ann")
            for (key, currency) in [("pearls", "pearls"), ("gift", "gems")] as [(String, CurrencyID)] {
                let gift = AdjustmentRequest(key: key, currency: currency, amount: 7)
                _ = try await shop.merchant.adjust(gift, of: "ann")
            }
            let spend = SpendRequest(key: "k", currency: "gems", amount: 30)
            let first = try await shop.merchant.spend(spend, by: "ann")
            // As often as one likes: with credits left that end, and of which nothing is used again.
            for _ in 0..<3 { #expect(try await shop.merchant.spend(spend, by: "ann") == first) }
            for reused in [
                SpendRequest(key: "k", currency: "gems", amount: 31),
                SpendRequest(key: "k", currency: "pearls", amount: 1),
                SpendRequest(key: "k", currency: "gems", amount: 30, note: "other"),
            ] {
                #expect(try await shop.code { _ = try await shop.merchant.spend(reused, by: "ann") } == .keyReused)
            }
            #expect(try await shop.gems("ann") == 127)
            #expect(try await shop.findings() == [])
            // When no more is there than was spent, and when what is left has come to its end.
            _ = try await shop.merchant.spend(SpendRequest(key: "rest", currency: "gems", amount: 117), by: "ann")
            #expect(try await shop.merchant.spend(spend, by: "ann") == first)
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.merchant.spend(spend, by: "ann") == first)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func creditsEnd(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), shop.purchase("passing", 2), for: "ann")
            #expect(try await shop.gems("ann") == 150)
            // What ends is spent first.
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 30), by: "ann")
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.gems("ann") == 100)
            let page = try await shop.merchant.history(of: "ann", "gems", before: nil)
            #expect(page.entries.first?.kind == .expiry)
            #expect(page.entries.first?.amount == -20)
            // A spend takes what has ended out before it looks.
            _ = try await shop.redeem(shop.purchase("passing", 3), for: "ann")
            shop.clock.milliseconds += 1_000_000
            let spend = SpendRequest(key: "b", currency: "gems", amount: 101)
            #expect(
                try await shop.code { _ = try await shop.merchant.spend(spend, by: "ann") } == .insufficientBalance)
            #expect(try await shop.findings() == [])
            // So does the history, whose newest entry is the balance; who only looks changes nothing.
            _ = try await shop.redeem(shop.purchase("passing", 5), for: "cid")
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.merchant.readHistory(of: "cid", "gems", before: nil).entries.count == 1)
            #expect(try await shop.merchant.history(of: "cid", "gems", before: nil).entries.first?.balance == 0)
            _ = try await shop.redeem(shop.purchase("passing", 4), for: "bob")
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.merchant.expireCredits() == 1)
            #expect(try await shop.merchant.expireCredits() == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func theBackendAdjusts(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let gift = AdjustmentRequest(key: "gift", currency: "gems", amount: 7, note: "sorry")
            let entry = try await shop.merchant.adjust(gift, of: "ann")
            #expect(try await shop.merchant.adjust(gift, of: "ann") == entry)
            #expect(entry.kind == .adjustment && entry.balance == 7)
            let take = AdjustmentRequest(key: "take", currency: "gems", amount: -8)
            #expect(try await shop.code { _ = try await shop.merchant.adjust(take, of: "ann") } == .insufficientBalance)
            #expect(try await shop.findings() == [])
        }
    }

    /// Whatever happens in whatever order, the books are those of a simple model.
    @Test(arguments: Backend.available, [UInt64(1), 2, 3]) func theLedgerAgreesWithAModel(
        _ backend: Backend, _ seed: UInt64
    ) async throws {
        let policies = RefundPolicy.allCases
        let policy = MerchantPolicy(refund: policies[Int(seed) % policies.count], environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            var chance = SeededGenerator(seed: seed)
            var model: [UserID: Int64] = [:]
            var bought: [(id: Int, user: UserID)] = []
            let users: [UserID] = ["ann", "bob", "cid"]
            for step in 1...120 {
                let user = users[Int.random(in: 0..<3, using: &chance)]
                let amount = Int64.random(in: 1...150, using: &chance)
                switch Int.random(in: 0..<5, using: &chance) {
                case 0, 1:
                    _ = try await shop.redeem(shop.purchase("coins", step), for: user)
                    model[user, default: 0] += 100
                    bought.append((step, user))
                case 2, 3:
                    let request = SpendRequest(key: "s\(step)", currency: "gems", amount: amount)
                    let refusal = try await shop.code { _ = try await shop.merchant.spend(request, by: user) }
                    let suffices = model[user, default: 0] >= amount
                    #expect(refusal == (suffices ? nil : .insufficientBalance))
                    if suffices { model[user, default: 0] -= amount }
                default:
                    guard let index = bought.indices.randomElement(using: &chance) else { continue }
                    let (id, owner) = bought.remove(at: index)
                    try await shop.notify("REFUND", shop.purchase("coins", id))
                    let balance = model[owner, default: 0]
                    switch policy.refund {
                    case .toZero: model[owner] = balance - min(100, max(balance, 0))
                    case .belowZero: model[owner] = balance - 100
                    case .flag: break
                    }
                }
            }
            for user in users { #expect(try await shop.gems(user) == model[user, default: 0]) }
            #expect(try await shop.findings() == [])
        }
    }

    /// What somebody does to the books behind the merchant's back, how it is undone, and how the findings end.
    private static let changes: [(change: String, back: String, findings: [String])] = [
        (
            "UPDATE ledger_entries SET balance = 101 WHERE user_id = 'ann'",
            "UPDATE ledger_entries SET balance = 100 WHERE user_id = 'ann'",
            [
                "ann/gems: the sum of the entries is 100, but the balance is 101",
                "ann/gems: 1 entries do not continue from the previous balance",
            ]
        ),
        (
            "UPDATE ledger_entries SET entry = 3 WHERE user_id = 'ann'",
            "UPDATE ledger_entries SET entry = 1 WHERE user_id = 'ann'",
            ["ann/gems: expected 3 entries, found 1"]
        ),
        (
            "UPDATE ledger_entries SET reference = reference || 'x' WHERE user_id = 'cid' AND kind = 'refund'",
            "UPDATE ledger_entries SET reference = substr(reference, 1, length(reference) - 1) "
                + "WHERE user_id = 'cid' AND kind = 'refund'",
            [
                "cid/gems: 1 grants or refunds have no redeemed purchase",
                ": expected 100 gems taken back, found 0",
            ]
        ),
        (
            "UPDATE redemptions SET state = 'granted' WHERE user_id = 'cid'",
            "UPDATE redemptions SET state = 'revoked' WHERE user_id = 'cid'",
            [": the purchase is granted, but a refund took credits back"]
        ),
        (
            "UPDATE ledger_entries SET reference = reference || 'x' WHERE user_id = 'ann'",
            "UPDATE ledger_entries SET reference = substr(reference, 1, length(reference) - 1) WHERE user_id = 'ann'",
            [
                "ann/gems: 1 grants or refunds have no redeemed purchase",
                ": expected 100 granted gems, found 0",
            ]
        ),
        (
            // Granted a second time, to somebody else.
            booked("eve", "gems", 1, "grant", 100), "DELETE FROM ledger_entries WHERE user_id = 'eve'",
            ["eve/gems: 1 grants or refunds have no redeemed purchase"]
        ),
        (
            // In a currency that the purchase does not give.
            booked("ann", "pearls", 1, "grant", 77), "DELETE FROM ledger_entries WHERE currency = 'pearls'",
            [": expected 0 granted pearls, found 77"]
        ),
        (
            booked("bob", "gems", 2, "refundReversal", 500, balance: 600, reference: "'nothing'"),
            "DELETE FROM ledger_entries WHERE reference = 'nothing'",
            ["bob/gems: 1 grants or refunds have no redeemed purchase"]
        ),
        (
            // Given to herself.
            booked("ann", "gems", 2, "adjustment", 500, balance: 600, reference: "'gift'", against: "merchant"),
            "DELETE FROM ledger_entries WHERE reference = 'gift'",
            ["ann/gems: 1 adjustments or spends were not ordered by the backend"]
        ),
        (
            // With the key and the number of another user's.
            booked("ann", "gems", 2, "adjustment", 500, balance: 600, reference: "'sorry'", against: "merchant"),
            "DELETE FROM ledger_entries WHERE user_id = 'ann' AND reference = 'sorry'",
            ["ann/gems: 1 adjustments or spends were not ordered by the backend"]
        ),
        (
            "UPDATE ledger_entries SET amount = 70, counter_amount = -70, balance = 70 WHERE user_id = 'dan'",
            "UPDATE ledger_entries SET amount = 7, counter_amount = -7, balance = 7 WHERE user_id = 'dan'",
            [
                "dan/gems: 1 adjustments or spends were not ordered by the backend",
                "dan/gems: 1 orders of the backend have no ledger entry",
            ]
        ),
        (
            booked("ann", "gems", 2, "spend", 500, balance: 600, reference: "'free'", against: "shop"),
            "DELETE FROM ledger_entries WHERE reference = 'free'",
            ["ann/gems: 1 entries have the wrong sign for their kind"]
        ),
        (
            "INSERT INTO backend_postings (user_id, posting_key, currency, entry, amount) VALUES ('eve', 'k', 'gems', 1, 5)",
            "DELETE FROM backend_postings WHERE user_id = 'eve'",
            ["eve/gems: orders of the backend have no ledger entries"]
        ),
        (
            "INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining) "
                + "VALUES ('ann', 'gems', 1, 'x', 101)", "DELETE FROM credit_lots",
            ["ann/gems: 101 credits have an expiry date, but the balance is 100"]
        ),
        (
            "INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining) "
                + "VALUES ('eve', 'gems', 1, 'x', 5)", "DELETE FROM credit_lots",
            ["eve/gems: credits with an expiry date have no ledger entries"]
        ),
    ]

    /// SQL that puts an entry into the books, as if for ann's purchase.
    private static func booked(
        _ user: String, _ currency: String, _ entry: Int, _ kind: String, _ amount: Int, balance: Int? = nil,
        reference: String = "(SELECT redemption_key FROM redemptions WHERE user_id = 'ann')",
        against account: String = "store"
    ) -> String {
        """
        INSERT INTO ledger_entries (user_id, currency, entry, kind, amount, counter_account, counter_amount, balance,
            reference, created_at)
        VALUES ('\(user)', '\(currency)', \(entry), '\(kind)', \(amount), '\(account)', \(-amount), \(balance ?? amount),
            \(reference), 1)
        """
    }

    @Test(arguments: Backend.available) func theCheckFindsInconsistencies(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 2), for: "bob")
            _ = try await shop.merchant.adjust(
                AdjustmentRequest(key: "sorry", currency: "gems", amount: 7), of: "dan")
            let report = try await shop.merchant.checkBooks()
            #expect(report.balances && report.accounts == 3 && report.entries == 3)
            #expect(report.outstanding == [Balance(currency: "gems", amount: 207)])
            try await shop.notify("REFUND", shop.purchase("coins", 3))
            _ = try await shop.redeem(shop.purchase("coins", 4), for: "cid")
            try await shop.notify("REFUND", shop.purchase("coins", 4))
            #expect(try await shop.findings() == [])
            for (change, back, expected) in Self.changes {
                try await shop.database.write { _ = try $0.execute(change) }
                let findings = try await shop.findings()
                #expect(findings.count == expected.count, "\(change): \(findings)")
                for (finding, end) in zip(findings, expected) { #expect(finding.hasSuffix(end), "\(change)") }
                try await shop.database.write { _ = try $0.execute(back) }
                #expect(try await shop.findings() == [], "\(back)")
            }
            try await shop.database.write { connection in
                try connection.execute("DELETE FROM redemptions WHERE user_id = 'bob'")
            }
            #expect(
                try await shop.findings() == ["bob/gems: 1 grants or refunds have no redeemed purchase"])
        }
    }

    @Test(arguments: Backend.available)
    func whatIsNotInAnAccountKeepsNobodysCreditsFromEnding(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            _ = try await shop.redeem(shop.purchase("coins", 2), for: "bob")
            // More than there is, of nobody's account, and last what is good.
            for (number, (user, amount)) in [("ann", 101), ("eve", 5), ("bob", 30)].enumerated() {
                try await shop.database.write { connection in
                    try connection.execute(
                        "INSERT INTO credit_lots (user_id, currency, expires_at, reference, remaining) "
                            + "VALUES ('\(user)', 'gems', \(number + 1), 'x', \(amount))")
                }
            }
            #expect(try await shop.merchant.expireCredits() == 3)
            #expect(try await shop.merchant.expireCredits() == 0)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.gems("bob") == 70)
        }
    }
}
