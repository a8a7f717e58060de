import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// The same receipts and notifications of a subscription, in different orders.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionOrderTests {
    private static let day: Int64 = 86_400_000

    /// What reaches the merchant: evidence that the app sends, or a notification.
    private enum Arrival {
        case evidence(VerifiedPurchase)
        case news(String, String?, VerifiedPurchase, signedAt: Int64, grace: Int64? = nil, willRenew: Bool? = nil)
    }

    /// What a user has in the end. A right that is over and one that was never given are the same.
    private struct Standing: Equatable {
        var gems: Int64
        var rights: [String]
        var renewal: [String]
    }

    private func standing(_ shop: TestMerchant, at dates: [Int64]) async throws -> Standing {
        var standing = Standing(gems: 0, rights: [], renewal: [])
        for date in dates {
            shop.clock.milliseconds = date
            for right in try await shop.merchant.entitlements(of: "ann").entitlements
            where right.state == .active || right.state == .grace {
                let name = right.entitlement?.rawValue ?? ""
                standing.rights.append(
                    "\(name) \(right.productID) \(right.state) \(right.expiresAt ?? 0) \(right.graceUntil ?? 0)")
                standing.renewal.append("\(right.willRenew.map(String.init) ?? "-")")
            }
        }
        standing.gems = try await shop.gems("ann")
        #expect(try await shop.findings() == [])
        return standing
    }

    private func deliver(_ arrivals: [Arrival], _ shop: TestMerchant) async throws {
        for arrival in arrivals {
            switch arrival {
            case .evidence(let purchase): _ = try await shop.code { _ = try await shop.redeem(purchase, for: "ann") }
            case .news(let type, let subtype, let purchase, let signedAt, let grace, let willRenew):
                try await shop.notify(
                    type, subtype, purchase, signedAt: signedAt, graceUntil: grace, willRenew: willRenew)
            }
        }
    }

    private func withShop(
        _ backend: Backend, _ superseded: SupersededPolicy, _ body: (TestMerchant) async throws -> Void
    ) async throws {
        let policy = MerchantPolicy(superseded: superseded, environments: [.production])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "plus", kind: .autoRenewableSubscription,
                    grants: [.entitlement("plus"), .credits("gems", amount: 30, lifetime: nil)]))
            _ = try await shop.merchant.describe("ann")
            try await body(shop)
        }
    }

    /// Purchases, changes of plan, refunds, reversals and extensions of the first twelve days, and what follows at the
    /// end of the last period.
    private static func life(
        _ chance: inout SeededGenerator
    ) -> ((during: [Arrival], after: [Arrival]), end: Int64) {
        var (during, after): ([Arrival], [Arrival]) = ([], [])
        var (start, end) = (TestClock.start, TestClock.start)
        let products: [ProductID] = ["plus", "monthly", "plus", "gold"]
        for number in 1...Int.random(in: 1...4, using: &chance) {
            let product = products.randomElement(using: &chance) ?? "plus"
            var length = 30 * day
            func stated(
                _ signedAt: Int64, revokedAt: Int64? = nil, upgraded: Bool = false
            ) -> VerifiedPurchase {
                VerifiedPurchase(
                    anchor: "test", environment: .production, bundleID: TestMerchant.bundleID, productID: product,
                    statedKind: nil, transactionID: String(number), originalTransactionID: "1", quantity: 1,
                    purchasedAt: start, expiresAt: start + length, webOrderLineItemID: String(number),
                    revokedAt: revokedAt, revokedShare: revokedAt == nil ? nil : VerifiedPurchase.wholeShare,
                    isUpgraded: upgraded, isRenewal: false, accountToken: AccountToken.token(of: "ann"),
                    signedAt: signedAt)
            }
            during += [
                .evidence(stated(start)), .news("SUBSCRIBED", nil, stated(start), signedAt: start, willRenew: true),
            ]
            let next = start + Int64.random(in: 1...3, using: &chance) * day
            switch Int.random(in: 0..<5, using: &chance) {
            case 0: during.append(.evidence(stated(next + day, upgraded: true)))
            case 1, 2:
                let date = Bool.random(using: &chance) ? next - day / 2 : next + day / 2
                during.append(.news("REFUND", nil, stated(date, revokedAt: date), signedAt: date))
                if Bool.random(using: &chance) {
                    during.append(.news("REFUND_REVERSED", nil, stated(next + day), signedAt: next + day))
                }
            case 3:
                let short = stated(next)
                length += 5 * day
                during += [.news("RENEWAL_EXTENDED", nil, stated(next), signedAt: next), .evidence(short)]
            default: break
            }
            if Bool.random(using: &chance) {
                during.append(
                    .news(
                        "DID_CHANGE_RENEWAL_STATUS", nil, stated(next), signedAt: next,
                        willRenew: Bool.random(using: &chance)))
            }
            end = start + length
            let last = stated(end)
            after = [
                .news("DID_FAIL_TO_RENEW", "GRACE_PERIOD", last, signedAt: end, grace: end + 16 * day),
                .news("DID_CHANGE_RENEWAL_STATUS", nil, last, signedAt: end + 1, willRenew: false),
            ]
            if Int.random(in: 0..<3, using: &chance) == 0 {
                after.append(.news("EXPIRED", "BILLING_RETRY", last, signedAt: end + 2, grace: end + 16 * day))
            }
            start = next
        }
        return ((during, after), end)
    }

    @Test(arguments: Backend.available, SupersededPolicy.allCases)
    func twoOrdersEndWithTheSameRightsAndBalances(_ backend: Backend, _ superseded: SupersededPolicy) async throws {
        for seed in 1...(backend == .sqlite ? 5 : 2) as ClosedRange<UInt64> {
            var standings: [Standing] = []
            for order in 0..<2 as Range<UInt64> {
                try await withShop(backend, superseded) { shop async throws in
                    var chance = SeededGenerator(seed: seed)
                    let (life, end) = Self.life(&chance)
                    var (during, after) = life
                    var shuffling = SeededGenerator(seed: seed * 1_000 + order)
                    if order > 0 {
                        during = (during + during.prefix(3)).shuffled(using: &shuffling)
                        after = (after + after.prefix(1)).shuffled(using: &shuffling)
                    }
                    shop.clock.milliseconds = TestClock.start + 13 * Self.day
                    try await deliver(during, shop)
                    let first = try await standing(shop, at: [TestClock.start + 13 * Self.day])
                    shop.clock.milliseconds = end + 3
                    try await deliver(after, shop)
                    var last = try await standing(shop, at: [end + 3, end + 15 * Self.day, end + 17 * Self.day])
                    last.rights = first.rights + last.rights
                    last.renewal = first.renewal + last.renewal
                    #expect(first.gems == last.gems, "seed \(seed)")
                    standings.append(last)
                }
            }
            #expect(standings.allSatisfy { $0 == standings[0] }, "seed \(seed): \(standings)")
        }
    }

    /// The store may report that a payment is overdue before the merchant hears of the period.
    @Test(arguments: Backend.available) func aGracePeriodMayBeReportedBeforeItsPeriod(_ backend: Backend) async throws {
        try await withShop(backend, .takeBack) { shop async throws in
            let (start, token) = (TestClock.start, AccountToken.token(of: "ann"))
            _ = try await shop.redeem(shop.purchase("plus", 1, expiresIn: 30 * Self.day, token: token), for: "ann")
            let second = shop.purchase(
                "plus", 2, original: 1, expiresIn: 30 * Self.day, purchasedAt: start + 30 * Self.day, renewal: true,
                token: token)
            shop.clock.milliseconds = start + 60 * Self.day
            try await shop.notify(
                "DID_FAIL_TO_RENEW", "GRACE_PERIOD", second, graceUntil: start + 66 * Self.day, willRenew: true)
            try await shop.notify("DID_RENEW", nil, second, signedAt: start + 30 * Self.day)
            #expect(try await shop.rights("ann") == ["plus": .grace])
            #expect(try await shop.gems("ann") == 60)
            shop.clock.milliseconds = start + 66 * Self.day
            #expect(try await shop.rights("ann") == ["plus": .expired])
            #expect(try await shop.findings() == [])
        }
    }

    @Test(arguments: Backend.available) func anExtensionMayBeReportedBeforeItsPeriod(_ backend: Backend) async throws {
        try await withShop(backend, .takeBack) { shop async throws in
            let start = TestClock.start
            _ = try await shop.redeem(shop.purchase("plus", 1, expiresIn: 30 * Self.day), for: "ann")
            shop.clock.milliseconds = start + 30 * Self.day
            func second(_ days: Int64) -> VerifiedPurchase {
                shop.purchase(
                    "plus", 2, original: 1, expiresIn: days * Self.day, purchasedAt: start + 30 * Self.day,
                    renewal: true)
            }
            try await shop.notify("RENEWAL_EXTENDED", second(45))
            try await shop.notify("DID_RENEW", second(30))
            #expect(try await shop.end("plus", "ann") == start + 75 * Self.day)
            #expect(try await shop.gems("ann") == 60)
        }
    }

    @Test(arguments: Backend.available) func theRenewalThatWasSignedLastCounts(_ backend: Backend) async throws {
        try await withShop(backend, .takeBack) { shop async throws in
            let month = shop.purchase("plus", 1, expiresIn: 30 * Self.day)
            let now = shop.clock.milliseconds
            // Before anybody has redeemed it.
            try await shop.notify("DID_CHANGE_RENEWAL_STATUS", nil, month, signedAt: now + 2, willRenew: false)
            _ = try await shop.redeem(month, for: "ann")
            try await shop.notify("DID_CHANGE_RENEWAL_STATUS", nil, month, signedAt: now + 1, willRenew: true)
            try await shop.notify(
                "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", month, signedAt: now, willRenew: true, renewsAs: "gold")
            let right = try await shop.merchant.entitlements(of: "ann").entitlements.first
            #expect(right?.willRenew == false)
            #expect(right?.renewsAs == "gold")
        }
    }

    /// Credits of a period that another plan replaced before the merchant received it.
    @Test(
        arguments: Backend.available,
        [(SupersededPolicy.takeBack, 10), (.prorate, 20), (.keep, 40)] as [(SupersededPolicy, Int64)])
    func aReplacedPeriodThatComesLateGivesItsCreditsByPolicy(
        _ backend: Backend, _ expected: (superseded: SupersededPolicy, gems: Int64)
    ) async throws {
        try await withShop(backend, expected.superseded) { shop async throws in
            let first = shop.purchase("plus", 1, expiresIn: 30 * Self.day)
            shop.clock.milliseconds += 10 * Self.day
            _ = try await shop.redeem(
                shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day), for: "ann")
            for _ in 0..<2 { _ = try await shop.code { _ = try await shop.redeem(first, for: "ann") } }
            #expect(try await shop.gems("ann") == expected.gems)
            #expect(try await shop.rights("ann")["plus"] != .active)
            #expect(try await shop.rights("ann")["club"] == .active)
            #expect(try await shop.findings() == [])
        }
    }

    /// `pending_renewal_info` alone keeps the access in the grace period, and ends it.
    @Test(arguments: Backend.available) func verifyReceiptTellsOfAGracePeriod(_ backend: Backend) async throws {
        try await withShop(backend, .takeBack) { shop async throws in
            let month = shop.purchase("plus", 1, expiresIn: 30 * Self.day)
            func bring(_ grace: RenewalStatement.Grace) async throws {
                let statement = RenewalStatement(signedAt: shop.clock.milliseconds, willRenew: true, grace: grace)
                _ = try await shop.code {
                    _ = try await shop.merchant.redeem(
                        VerifiedEvidence(
                            environment: .production, bundleID: TestMerchant.bundleID, purchases: [month],
                            renewals: ["1": statement]), for: "ann")
                }
            }
            try await bring(.absent)
            #expect(try await shop.merchant.entitlements(of: "ann").entitlements.first?.willRenew == true)
            shop.clock.milliseconds += 30 * Self.day
            #expect(try await shop.rights("ann") == ["plus": .expired])
            try await bring(.until(shop.clock.milliseconds + Self.day))
            #expect(try await shop.rights("ann") == ["plus": .grace])
            shop.clock.milliseconds += 1
            try await bring(.absent)
            #expect(try await shop.rights("ann") == ["plus": .expired])
            #expect(try await shop.gems("ann") == 30)
        }
    }
}
