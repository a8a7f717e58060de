import Database
import Foundation
import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Each spend, grant and refund happens once, and what nobody ordered or bought is found.
@Suite(.timeLimit(.minutes(1))) struct OriginTests {
    // MARK: Keys

    @Test(arguments: Backend.available) func theAppsKeysAndTheBackendsAreApart(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            let merchant = shop.merchant
            func spend(_ key: String, _ amount: Int64) -> SpendRequest {
                SpendRequest(key: key, currency: "gems", amount: amount)
            }
            func gift(_ key: String, _ amount: Int64) -> AdjustmentRequest {
                AdjustmentRequest(key: key, currency: "gems", amount: amount)
            }
            // The app takes the keys that the backend is going to use.
            let apps = try await merchant.spend(spend("refund-1", 10), by: "ann")
            _ = try await merchant.spend(spend("fee-1", 10), by: "ann")
            let given = try await merchant.adjust(gift("refund-1", 5), of: "ann")
            let backends = try await merchant.spend(spend("fee-1", 20), by: "ann", for: .backend)
            #expect(try await shop.gems("ann") == 65)
            for _ in 0..<2 {
                #expect(try await merchant.spend(spend("refund-1", 10), by: "ann") == apps)
                #expect(try await merchant.adjust(gift("refund-1", 5), of: "ann") == given)
                #expect(try await merchant.spend(spend("fee-1", 20), by: "ann", for: .backend) == backends)
            }
            // The backend's spends and adjustments share their keys.
            #expect(try await shop.code { _ = try await merchant.adjust(gift("fee-1", 20), of: "ann") } == .keyReused)
            #expect(
                try await shop.code { _ = try await merchant.spend(spend("refund-1", 5), by: "ann", for: .backend) }
                    == .keyReused)
            #expect(try await shop.code { _ = try await merchant.adjust(gift("fee-1", -20), of: "ann") } == .keyReused)
            #expect(try await shop.gems("ann") == 65)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aSpendOfBeforeKeepsItsKeyFromBoth(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            let spend = SpendRequest(key: "old", currency: "gems", amount: 10)
            let first = try await shop.merchant.spend(spend, by: "ann")
            try await shop.database.write { _ = try $0.execute("UPDATE ledger_entries SET caller = NULL") }
            #expect(try await shop.merchant.spend(spend, by: "ann") == first)
            #expect(try await shop.merchant.spend(spend, by: "ann", for: .backend) == first)
            let gift = AdjustmentRequest(key: "old", currency: "gems", amount: 10)
            #expect(try await shop.code { _ = try await shop.merchant.adjust(gift, of: "ann") } == .keyReused)
            #expect(try await shop.gems("ann") == 90)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func oneKeyOfTheBackendsAtOnceIsOneEntry(_ backend: Backend) async throws {
        try await TestMerchant.with(backend, connections: 8) { shop async throws in
            let entries = try await withThrowingTaskGroup(of: LedgerEntry.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        try await shop.merchant.adjust(
                            AdjustmentRequest(key: "gift", currency: "gems", amount: 7), of: "ann")
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(entries.map(\.entry)) == [1])
            #expect(try await shop.gems("ann") == 7)
            #expect(try await shop.findings() == [])
        }
    }

    // MARK: Kinds

    private func list(_ product: ProductID, as kind: ProductKind, _ shop: TestMerchant) async throws {
        try? await shop.merchant.deleteProduct(TestMerchant.bundleID, product)
        try await shop.merchant.put(
            MerchantProduct(
                bundleID: TestMerchant.bundleID, productID: product, kind: kind,
                grants: [.credits("gems", amount: 100, lifetime: nil), .entitlement("extra")]))
    }

    static let kinds: [(ProductKind, ProductKind)] = [
        (.consumable, .nonConsumable), (.nonConsumable, .consumable), (.consumable, .nonRenewingSubscription),
    ]

    @Test(arguments: Backend.available, kinds)
    func aProductMadeAnewAsAnotherKindGrantsNothingTwice(
        _ backend: Backend, _ kinds: (ProductKind, ProductKind)
    ) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await list("pack", as: kinds.0, shop)
            let first = shop.purchase("pack", 1)
            let answer = try await shop.redeem(first, for: "ann")
            try await list("pack", as: kinds.1, shop)
            #expect(try await shop.redeem(first, for: "ann") == answer)
            #expect(try await shop.code { _ = try await shop.redeem(first, for: "bob") } == .alreadyRedeemed)
            #expect(try await shop.gems("ann") == 100)
            let second = shop.purchase("pack", 2)
            _ = try await shop.redeem(second, for: "ann")
            // And back.
            try await list("pack", as: kinds.0, shop)
            for purchase in [first, second] { _ = try await shop.redeem(purchase, for: "ann") }
            #expect(try await shop.gems("ann") == 200)
            // Refunds find them, whether the product is there or not.
            try await shop.notify("REFUND", second)
            #expect(try await shop.gems("ann") == 100)
            try await shop.merchant.deleteProduct(TestMerchant.bundleID, "pack")
            try await shop.notify("REFUND", first)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.rights("ann") == ["extra": .revoked])
            #expect(try await shop.findings() == [])
        }
    }

    /// A restored backup, or a promoted standby that lagged. Memory does not age here.
    @Test(arguments: Backend.available)
    func `a product list that the database has lost redeems nothing`(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let kept = try await shop.merchant.allProducts().revision
            let coins = try #require(try await shop.merchant.product(TestMerchant.bundleID, "coins")?.product)
            var changed = coins
            changed.grants = [.credits("gems", amount: 70, lifetime: nil)]
            try await shop.merchant.put(changed)
            let lost = try await shop.merchant.productList(of: TestMerchant.bundleID).revision
            #expect(lost > kept)
            let grants = try ProductCatalog.json(coins.grants)
            try await shop.database.write { connection in
                try connection.execute("UPDATE products SET grants = $1 WHERE product_id = 'coins'", [grants])
                try connection.execute("UPDATE product_revision SET revision = $1", [kept])
            }
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.merchant.productList(of: TestMerchant.bundleID).revision == kept)
            // The next change does not get the number of the lost one.
            shop.clock.milliseconds += 10
            try await shop.merchant.deleteProduct(TestMerchant.bundleID, "pro")
            #expect(try await shop.merchant.allProducts().revision > lost)
        }
    }

    /// A process has the list in memory for a second, in which another one may make a product anew.
    @Test(arguments: Backend.available)
    func `a process with an older list grants nothing twice and takes a refund back`(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let (merchant, clock) = (shop.merchant, shop.clock)
            let other = Merchant(
                database: shop.database, blobs: merchant.blobs, verifier: merchant.verifier, policy: merchant.policy,
                now: { clock.milliseconds }, makeID: { UUID() })
            // Sells to ann what the other process takes for something else.
            func sell(_ product: ProductID, _ id: Int) async throws -> (VerifiedPurchase, RedemptionAnswer) {
                try await list(product, as: .consumable, shop)
                _ = try await other.allProducts()
                try await list(product, as: .nonConsumable, shop)
                let purchase = shop.purchase(product, id)
                return (purchase, try await shop.redeem(purchase, for: "ann"))
            }
            let (first, answer) = try await sell("pack", 1)
            let evidence = VerifiedEvidence(
                environment: .production, bundleID: TestMerchant.bundleID, purchases: [first])
            #expect(try await other.redeem(evidence, for: "ann") == answer)
            #expect(try await shop.gems("ann") == 100)
            let (second, _) = try await sell("bundle", 2)
            let refund = VerifiedNotification(
                notificationID: "n", type: "REFUND", subtype: nil, signedAt: clock.milliseconds, purchase: second,
                renewal: .init(willRenew: nil))
            #expect(try await other.apply(refund) == .applied)
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aRefundOfAnUnknownProductCountsWhenItIsListed(_ backend: Backend)
        async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            let pack = shop.purchase("pack", 1)
            try await shop.notify("REFUND", pack)
            try await list("pack", as: .nonConsumable, shop)
            #expect(try await shop.code { _ = try await shop.redeem(pack, for: "ann") } == .revoked)
            #expect(try await shop.gems("ann") == 0)
        }
    }

    /// A subscription that the list called something owned for good: the period that was redeemed is not granted
    /// again, and the next is.
    @Test(arguments: Backend.available) func aSubscriptionThatWasListedWronglyGoesOn(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            try await list("pass", as: .nonRenewingSubscription, shop)
            let first = shop.purchase("pass", 1, expiresIn: 60_000)
            _ = try await shop.redeem(first, for: "ann")
            try await list("pass", as: .autoRenewableSubscription, shop)
            _ = try await shop.redeem(first, for: "ann")
            #expect(try await shop.gems("ann") == 100)
            shop.clock.milliseconds += 60_000
            let second = shop.purchase("pass", 2, original: 1, expiresIn: 60_000)
            for _ in 0..<2 { _ = try await shop.redeem(second, for: "ann") }
            #expect(try await shop.gems("ann") == 200)
            #expect(try await shop.findings() == [])
        }
    }

    // MARK: Refunds

    private func refund(_ shop: TestMerchant, _ id: Int, share: Int64?) async throws {
        shop.clock.milliseconds += 1
        try await shop.notify("REFUND", shop.purchase("coins", id, revoked: true, share: share))
    }

    @Test(arguments: Backend.available) func aLargerRefundTakesTheDifference(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            let coins = shop.purchase("coins", 1)
            _ = try await shop.redeem(coins, for: "ann")
            var left: [Int64] = []
            for share in [25_000, 60_500, 60_500, 10_000, nil, 100_000, 100_000] as [Int64?] {
                try await refund(shop, 1, share: share)
                left.append(try await shop.gems("ann"))
                #expect(try await shop.findings() == [])
            }
            // Evidence that does not say how much was refunded says nothing new.
            #expect(left == [75, 39, 39, 39, 39, 0, 0])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", coins)
            #expect(try await shop.gems("ann") == 100)
            try await refund(shop, 1, share: 50_000)
            #expect(try await shop.gems("ann") == 50)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func aLargerRefundIsTold(_ backend: Backend) async throws {
        let policy = MerchantPolicy(environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            for share in [30_000, 100_000, 100_000] as [Int64] { try await refund(shop, 1, share: share) }
            let events = try await shop.merchant.outbox.takeDueEvents(limit: 9, retries: 9, now: .max, leaseEnd: .max)
            #expect(events.count == 3)
            #expect(events.count { String(decoding: $0.body, as: UTF8.self).contains("balance.changed") } == 1)
        }
    }

    @Test(arguments: Backend.available, RefundPolicy.allCases)
    func aLargerRefundOfSpentCreditsTakesWhatIsThere(_ backend: Backend, _ policy: RefundPolicy) async throws {
        let policy = MerchantPolicy(refund: policy, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            let passing = shop.purchase("passing", 2)
            _ = try await shop.redeem(shop.purchase("coins", 1), passing, for: "ann")
            // Of the 50 that end, none are left, and 60 of the others.
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 90), by: "ann")
            var left: [Int64] = []
            for share in [50_000, 80_000, 100_000] as [Int64] {
                try await refund(shop, 1, share: share)
                left.append(try await shop.gems("ann"))
            }
            let flag = try await shop.merchant.report(of: "ann").flags.first?.detail
            switch policy.refund {
            case .toZero:
                #expect(left == [10, 0, 0] && flag == "100 gems were refunded, and 60 of them taken back.")
            case .belowZero: #expect(left == [10, -20, -40] && flag == nil)
            case .flag: #expect(left == [60, 60, 60] && flag == "100 gems were refunded, and 0 of them taken back.")
            }
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", shop.purchase("coins", 1))
            #expect(try await shop.gems("ann") == 60)
            #expect(try await shop.merchant.report(of: "ann").flags == [])
            #expect(try await shop.findings() == [])
        }
    }

    // MARK: Refunds without a share

    /// What a receipt says of a refund: when, and not how much.
    private func receipt(_ shop: TestMerchant, _ product: ProductID, at moment: Int64? = nil) async throws {
        let now = shop.clock.milliseconds
        if let moment { shop.clock.milliseconds = moment }
        let evidence = shop.purchase(product, 1, revoked: true, signedAt: now)
        shop.clock.milliseconds = now
        _ = try? await shop.redeem(evidence, for: "ann")
    }

    @Test(arguments: Backend.available, [true, false])
    func theStoresShareTakesThePlaceOfAPresumedOne(_ backend: Backend, _ isSignedBefore: Bool) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            shop.clock.milliseconds += 1_000
            let stated = { shop.purchase("coins", 1, revoked: true, share: $0) } as (Int64) -> VerifiedPurchase
            let first = stated(30_000)
            shop.clock.milliseconds += 1_000
            // Made anew after the refund, the receipt has the refund's date.
            try await receipt(shop, "coins", at: shop.clock.milliseconds - 1_000)
            #expect(try await shop.gems("ann") == 0)
            if !isSignedBefore { shop.clock.milliseconds += 1_000 }
            try await shop.notify(
                "REFUND", first, signedAt: isSignedBefore ? shop.clock.milliseconds - 1_000 : nil)
            #expect(try await shop.gems("ann") == 70)
            #expect(try await shop.findings() == [])
            // From now on as ever: more is taken, and less changes nothing.
            var left: [Int64] = []
            for share in [nil, 60_000, 10_000, nil] as [Int64?] {
                shop.clock.milliseconds += 1_000
                if let share {
                    try await shop.notify("REFUND", stated(share))
                } else {
                    try await receipt(shop, "coins")
                }
                left.append(try await shop.gems("ann"))
                #expect(try await shop.findings() == [])
            }
            #expect(left == [70, 40, 40, 40])
            shop.clock.milliseconds += 1_000
            try await shop.notify("REFUND_REVERSED", shop.purchase("coins", 1))
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anOlderRefundsShareIsNotTheNewOnes(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            shop.clock.milliseconds += 1_000
            let older = shop.purchase("coins", 1, revoked: true, share: 30_000)
            let signedAt = shop.clock.milliseconds
            shop.clock.milliseconds += 1_000
            try await shop.notify("REFUND_REVERSED", shop.purchase("coins", 1))
            shop.clock.milliseconds += 1_000
            try await receipt(shop, "coins")
            #expect(try await shop.gems("ann") == 0)
            try await shop.notify("REFUND", older, signedAt: signedAt)
            #expect(try await shop.gems("ann") == 0)
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available, RefundPolicy.allCases)
    func aSmallerShareGivesBackWhatWasTakenBeyondIt(_ backend: Backend, _ refund: RefundPolicy) async throws {
        let policy = MerchantPolicy(refund: refund, environments: [.production], sendsWebhooks: true)
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 1), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 80), by: "ann")
            shop.clock.milliseconds += 1_000
            var left: [Int64] = []
            var flags: [String?] = []
            for share in [nil, 50_000] as [Int64?] {
                if let share { try await self.refund(shop, 1, share: share) } else { try await receipt(shop, "coins") }
                left.append(try await shop.gems("ann"))
                flags.append(try await shop.merchant.report(of: "ann").flags.first?.detail)
                #expect(try await shop.findings() == [])
            }
            switch refund {
            case .toZero:
                #expect(left == [0, 0])
                #expect(
                    flags == [
                        "100 gems were refunded, and 20 of them taken back.",
                        "50 gems were refunded, and 20 of them taken back.",
                    ])
            case .belowZero: #expect(left == [-80, -30] && flags == [nil, nil])
            case .flag:
                #expect(left == [20, 20])
                #expect(flags.last == "50 gems were refunded, and 0 of them taken back.")
            }
            // The backend hears of what came back.
            let events = try await shop.merchant.outbox.takeDueEvents(limit: 99, retries: 99, now: .max, leaseEnd: .max)
            let told = events.filter { String(decoding: $0.body, as: UTF8.self).contains(#""reason":"refund""#) }
            #expect(told.count == (refund == .belowZero ? 1 : 0))
        }
    }

    @Test(arguments: Backend.available) func whatASmallerShareGivesBackEndsAsBefore(_ backend: Backend) async throws {
        try await TestMerchant.with(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 2), shop.purchase("passing", 1), for: "ann")
            // 30 of the 50 that end are left, and 20 others are taken in the stead of the rest.
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 20), by: "ann")
            shop.clock.milliseconds += 1_000
            try await receipt(shop, "passing")
            #expect(try await shop.gems("ann") == 80)
            shop.clock.milliseconds += 1_000
            // As if 20 of those that end had been taken alone: 10 that end and 20 others come back.
            try await shop.notify("REFUND", shop.purchase("passing", 1, revoked: true, share: 40_000))
            #expect(try await shop.gems("ann") == 110)
            #expect(try await shop.findings() == [])
            shop.clock.milliseconds += 1_000_000
            #expect(try await shop.gems("ann") == 100)
            try await shop.notify("REFUND_REVERSED", shop.purchase("passing", 1))
            #expect(try await shop.gems("ann") == 100)
            #expect(try await shop.findings() == [])
        }
    }

    // MARK: Rights

    /// What somebody does to users' rights behind the merchant's back, and how it is undone.
    private static let changes: [(change: String, back: String)] = [
        (right("eve", "pro", "made-up"), "DELETE FROM entitlements WHERE user_id = 'eve'"),
        // With another user's purchase, and with another user's subscription.
        (
            right(
                "eve", "pro", "' || redemption_key || '",
                from: "redemptions WHERE user_id = 'ann' AND product_id = 'pro'"), gone
        ),
        (
            right(
                "eve", "club", "' || subscription_key || '", from: "subscriptions", expiresAt: "9999999999999",
                grantedBy: "period_key"), gone
        ),
        // As an earlier program wrote it, for a user who has nothing of the subscription.
        (
            right(
                "eve", "club", "' || subscription_key || '", from: "subscriptions", expiresAt: "9999999999999",
                grantedBy: "''"), gone
        ),
        (
            // With a purchase of one's own, which gives something else.
            right("ann", "pro", "' || redemption_key || '", from: "redemptions WHERE product_id = 'issue'"),
            "DELETE FROM entitlements WHERE user_id = 'ann' AND product_id = 'forged'"
        ),
        (
            right(
                "ann", "gold", "' || subscription_key || '", from: "subscriptions", expiresAt: "9999999999999",
                grantedBy: "period_key"),
            "DELETE FROM entitlements WHERE user_id = 'ann' AND product_id = 'forged'"
        ),
        (
            "UPDATE entitlements SET granted_by = NULL WHERE name = 'club'",
            "UPDATE entitlements SET granted_by = (SELECT period_key FROM subscriptions) WHERE name = 'club'"
        ),
        (
            "UPDATE entitlements SET revoked_at = NULL WHERE user_id = 'bob'",
            "UPDATE entitlements SET revoked_at = 1 WHERE user_id = 'bob'"
        ),
        (
            "UPDATE entitlements SET expires_at = expires_at + 1 WHERE name = 'boost' AND starts_at = 5",
            "UPDATE entitlements SET expires_at = expires_at - 1 WHERE name = 'boost' AND starts_at = 5"
        ),
        (
            "UPDATE entitlements SET lifetime = NULL, expires_at = NULL WHERE name = 'boost' AND starts_at = 5",
            "UPDATE entitlements SET lifetime = 10000, expires_at = 10005 WHERE name = 'boost' AND starts_at = 5"
        ),
        (
            "UPDATE entitlements SET expires_at = NULL WHERE name = 'club'",
            "UPDATE entitlements SET expires_at = 1770091566000 WHERE name = 'club'"
        ),
        (
            "UPDATE entitlements SET expires_at = expires_at + 1 WHERE name = 'club'",
            "UPDATE entitlements SET expires_at = expires_at - 1 WHERE name = 'club'"
        ),
        (
            "UPDATE entitlements SET grace_until = 9999999999999 WHERE name = 'club'",
            "UPDATE entitlements SET grace_until = NULL WHERE name = 'club'"
        ),
    ]

    private static let gone = "DELETE FROM entitlements WHERE user_id = 'eve'"

    private static func right(
        _ user: String, _ name: String, _ source: String, from table: String? = nil, expiresAt: String = "NULL",
        grantedBy: String = "NULL"
    ) -> String {
        """
        INSERT INTO entitlements (user_id, kind, name, source, product_id, starts_at, expires_at, granted_by)
        SELECT '\(user)', 'entitlement', '\(name)', '\(source)', 'forged', 1, \(expiresAt), \(grantedBy)
        \(table.map { "FROM \($0)" } ?? "")
        """
    }

    @Test(arguments: Backend.available) func theCheckFindsAnEntitlementWithoutAPurchase(_ backend: Backend) async throws
    {
        try await TestMerchant.with(backend) { shop async throws in
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "day", kind: .consumable,
                    grants: [.entitlement("boost", lifetime: 10)]))
            _ = try await shop.redeem(
                shop.purchase("pro", 1), shop.purchase("issue", 2), shop.purchase("monthly", 3, expiresIn: 60_000),
                shop.purchase("day", 4, purchasedAt: 5), for: "ann")
            _ = try await shop.redeem(shop.purchase("pro", 9), for: "bob")
            try await shop.notify("REFUND", shop.purchase("pro", 9))
            #expect(try await shop.findings() == [])
            func check(_ change: String, _ back: String) async throws {
                let count = try await shop.database.write { try $0.execute(change) }
                #expect(count > 0, "\(change)")
                #expect(try await shop.findings().count == 1, "\(change)")
                try await shop.database.write { _ = try $0.execute(back) }
                #expect(try await shop.findings() == [], "\(back)")
            }
            for (change, back) in Self.changes { try await check(change, back) }
            // A refunded subscription that is switched on again.
            try await shop.notify("REFUND", shop.purchase("monthly", 3, expiresIn: 60_000))
            #expect(try await shop.rights("ann")["club"] == .revoked)
            try await check(
                "UPDATE entitlements SET revoked_at = NULL WHERE name = 'club'",
                "UPDATE entitlements SET revoked_at = \(TestClock.start) WHERE name = 'club'")
        }
    }
}
