import Database
import Foundation
import MerchantWire
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// Credits of periods that were not paid for whole: left for another plan, tried for nothing, or shared.
@Suite(.timeLimit(.minutes(1))) struct PlanChangeTests {
    private static let day: Int64 = 86_400_000

    private func withShop(
        _ backend: Backend, refund: RefundPolicy = .toZero, superseded: SupersededPolicy = .takeBack,
        trials: Bool = false, shared: Bool = false, _ body: (TestMerchant) async throws -> Void
    ) async throws {
        let policy = MerchantPolicy(
            refund: refund, superseded: superseded, givesCreditsForTrials: trials,
            givesCreditsForSharedCopies: shared, environments: [.production, .sandbox])
        try await TestMerchant.with(backend, policy: policy) { shop async throws in
            try await shop.merchant.put(
                MerchantProduct(
                    bundleID: TestMerchant.bundleID, productID: "plus", kind: .autoRenewableSubscription,
                    grants: [.entitlement("plus"), .credits("gems", amount: 30, lifetime: nil)]))
            try await body(shop)
            #expect(try await shop.findings() == [])
        }
    }

    /// How a merchant hears of periods.
    enum Way: CaseIterable {
        case transactions, receipt, notifications
    }

    @Test(arguments: Backend.available, Way.allCases)
    func tenChangesInAMinuteArePaidOnce(_ backend: Backend, _ way: Way) async throws {
        try await withShop(backend) { shop async throws in
            let token = try await shop.merchant.describe("ann").accountToken
            var periods: [VerifiedPurchase] = []
            for number in 0..<10 {
                shop.clock.milliseconds += 6_000
                let period = shop.purchase(
                    number % 2 == 0 ? "plus" : "monthly", number + 1, original: 1, expiresIn: 30 * Self.day,
                    renewal: false, token: token)
                periods.append(period)
                switch way {
                case .transactions: _ = try await shop.redeem(period, for: "ann")
                case .notifications: try await shop.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", period)
                case .receipt: break
                }
            }
            if way == .receipt {
                _ = try await shop.merchant.redeem(
                    VerifiedEvidence(
                        environment: .production, bundleID: TestMerchant.bundleID, purchases: periods.reversed()),
                    for: "ann")
            }
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.rights("ann") == ["plus": .expired, "club": .active])
            // The same once more changes nothing.
            for period in periods { _ = try? await shop.redeem(period, for: "ann") }
            #expect(try await shop.gems("ann") == 10)
        }
    }

    /// How the merchant receives two plans that were bought within one second: in one receipt or in two, or the first
    /// in a signed transaction, whose date has a fraction of a second.
    enum OneSecond: CaseIterable {
        case oneReceipt, twoReceipts, signedTransaction
    }

    /// Receipts have whole seconds, so the number of the period decides which plan is the later one.
    @Test(arguments: Backend.available, OneSecond.allCases.flatMap { way in [[0, 1], [1, 0]].map { (way, $0) } })
    func twoPlansOfOneSecondArePaidOnce(_ backend: Backend, _ received: (way: OneSecond, order: [Int])) async throws {
        try await withShop(backend) { shop async throws in
            let start = shop.clock.milliseconds
            shop.clock.milliseconds += 900
            let left = shop.purchase(
                "plus", 99, original: 1, expiresIn: 300 * Self.day,
                purchasedAt: received.way == .signedTransaction ? start + 700 : start)
            let change = shop.purchase("monthly", 100, original: 1, expiresIn: 30 * Self.day, purchasedAt: start)
            let purchases = received.order.map { [left, change][$0] }
            for _ in 0..<2 {
                if received.way == .oneReceipt {
                    _ = try await shop.merchant.redeem(
                        VerifiedEvidence(
                            environment: .production, bundleID: TestMerchant.bundleID, purchases: purchases), for: "ann"
                    )
                } else {
                    for purchase in purchases { _ = try? await shop.redeem(purchase, for: "ann") }
                }
                #expect(try await shop.gems("ann") == 10)
            }
            #expect(try await shop.rights("ann")["plus"] != .active)
            let key = RedemptionKey.subscription(left)
            func end() async throws -> Int64? {
                try await shop.database.read { try SubscriptionRow.find(key, $0) }?.facts.periods.last?.expiresAt
            }
            #expect(try await end() == start + 30 * Self.day)
            // A refund of the first plan does not end the second one.
            try await shop.notify(
                "REFUND",
                shop.purchase(
                    "plus", 99, original: 1, expiresIn: 300 * Self.day, purchasedAt: left.purchasedAt, revoked: true,
                    share: 100_000))
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.rights("ann")["club"] == .active)
            #expect(try await end() == start + 30 * Self.day)
            shop.clock.milliseconds += 30 * Self.day
            #expect(try await shop.rights("ann")["club"] == .expired)
        }
    }

    @Test(arguments: Backend.available) func tenPlansOfOneSecondInReverseArePaidOnce(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            let periods = (0..<10).map { number in
                shop.purchase(
                    number % 2 == 0 ? "plus" : "monthly", number + 95, original: 1, expiresIn: 30 * Self.day)
            }
            for period in periods.reversed() { _ = try? await shop.redeem(period, for: "ann") }
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.rights("ann") == ["club": .active])
        }
    }

    static let orders = TimedRightTests.orders

    @Test(arguments: Backend.available, orders)
    func theOrderOfNewsDoesNotMatter(_ backend: Backend, _ order: [Int]) async throws {
        try await withShop(backend) { shop async throws in
            let start = shop.clock.milliseconds
            let periods = ["monthly", "plus", "monthly"].enumerated().map { index, product in
                shop.purchase(
                    ProductID(product), index + 1, original: 1, expiresIn: 30 * Self.day,
                    purchasedAt: start + Int64(index) * 10 * Self.day)
            }
            shop.clock.milliseconds += 20 * Self.day
            for index in order {
                let code = try await shop.code { _ = try await shop.redeem(periods[index], for: "ann") }
                #expect(code == nil || code == .expired)
            }
            #expect(try await shop.gems("ann") == 10)
            #expect(try await shop.rights("ann")["club"] == .active)
        }
    }

    @Test(arguments: Backend.available) func theStoresWordOfAChangeTakesThemToo(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("plus", 1, expiresIn: 30 * Self.day), for: "ann")
            #expect(try await shop.gems("ann") == 30)
            // Signed anew after the change; the new plan has not been heard of.
            let left = shop.purchase("plus", 1, expiresIn: 30 * Self.day, purchasedAt: TestClock.start, upgraded: true)
            for _ in 0..<2 {
                shop.clock.milliseconds += 1_000
                _ = try await shop.redeem(left, for: "ann")
                #expect(try await shop.gems("ann") == 0)
            }
            #expect(try await shop.rights("ann") == ["plus": .active])
        }
    }

    @Test(arguments: Backend.available) func aPlanThatIsOverHasEndedTheOneBefore(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("plus", 1, expiresIn: 300 * Self.day), for: "ann")
            shop.clock.milliseconds += Self.day
            let change = shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day)
            shop.clock.milliseconds += 40 * Self.day
            #expect(try await shop.code { _ = try await shop.redeem(change, for: "ann") } == .expired)
            #expect(try await shop.rights("ann") == ["plus": .expired])
            #expect(try await shop.gems("ann") == 0)
        }
    }

    @Test(arguments: Backend.available) func renewalsKeepTheirCredits(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            for number in 1...3 {
                _ = try await shop.redeem(
                    shop.purchase("plus", number, original: 1, expiresIn: 30 * Self.day, renewal: number > 1),
                    for: "ann")
                shop.clock.milliseconds += 30 * Self.day
            }
            // Another plan from the next period on, paid a few hours early.
            shop.clock.milliseconds -= 20_000_000
            _ = try await shop.redeem(shop.purchase("monthly", 4, original: 1, expiresIn: 30 * Self.day), for: "ann")
            #expect(try await shop.gems("ann") == 100)
        }
    }

    /// What is left of 30 credits after ten of thirty days and the new plan's 10, by policy.
    static let policies: [(RefundPolicy, SupersededPolicy, spent: Int64, left: Int64, flag: String?)] = [
        (.toZero, .takeBack, 0, 10, nil), (.toZero, .prorate, 0, 20, nil), (.toZero, .keep, 0, 40, nil),
        (.toZero, .takeBack, 25, 10, "30 gems were refunded, and 5 of them taken back."),
        (.belowZero, .takeBack, 25, -15, nil),
        (.toZero, .prorate, 25, 10, "20 gems were refunded, and 5 of them taken back."),
        (.flag, .takeBack, 25, 15, "30 gems were refunded, and 0 of them taken back."),
    ]

    @Test(arguments: Backend.available, policies.indices)
    func theMerchantDecidesWhatIsTaken(_ backend: Backend, _ index: Int) async throws {
        let (refund, superseded, spent, left, flag) = Self.policies[index]
        try await withShop(backend, refund: refund, superseded: superseded) { shop async throws in
            _ = try await shop.redeem(shop.purchase("plus", 1, expiresIn: 30 * Self.day), for: "ann")
            if spent > 0 {
                _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: spent), by: "ann")
            }
            shop.clock.milliseconds += 10 * Self.day
            let change = shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day)
            for _ in 0..<2 { _ = try await shop.redeem(change, for: "ann") }
            #expect(try await shop.gems("ann") == left)
            let flags = try await shop.merchant.report(of: "ann").flags
            #expect(flags.map(\.detail) == [flag].compactMap { $0 })
            #expect(flags.allSatisfy { $0.code == "superseded_credits_kept" })
        }
    }

    @Test(arguments: Backend.available) func aRefundOfWhatWasLeftTakesNothingTwice(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 90), for: "ann")
            let first = shop.purchase("plus", 1, expiresIn: 30 * Self.day)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += Self.day
            _ = try await shop.redeem(shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day), for: "ann")
            #expect(try await shop.gems("ann") == 110)
            try await shop.notify("REFUND", first)
            #expect(try await shop.gems("ann") == 110)
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", first)
            #expect(try await shop.gems("ann") == 110)
        }
    }

    @Test(arguments: Backend.available) func aChangeAfterAPartialRefundTakesTheRest(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(shop.purchase("coins", 90), for: "ann")
            let first = shop.purchase("plus", 1, expiresIn: 30 * Self.day)
            _ = try await shop.redeem(first, for: "ann")
            shop.clock.milliseconds += 1
            try await shop.notify(
                "REFUND",
                shop.purchase(
                    "plus", 1, expiresIn: 30 * Self.day, purchasedAt: TestClock.start, revoked: true, share: 50_000))
            #expect(try await shop.gems("ann") == 115)
            shop.clock.milliseconds += 1
            let left = shop.purchase("plus", 1, expiresIn: 30 * Self.day, purchasedAt: TestClock.start, upgraded: true)
            _ = try? await shop.redeem(left, for: "ann")
            #expect(try await shop.gems("ann") == 100)
        }
    }

    // MARK: Refunds of periods that were left

    private func plus(_ shop: TestMerchant, share: Int64? = nil, upgraded: Bool = false) -> VerifiedPurchase {
        shop.purchase(
            "plus", 1, expiresIn: 30 * Self.day, purchasedAt: TestClock.start, revoked: share != nil, share: share,
            upgraded: upgraded)
    }

    @Test(arguments: Backend.available) func aReversedRefundGivesBackWhatItTookItself(_ backend: Backend) async throws {
        try await withShop(backend, superseded: .prorate) { shop async throws in
            _ = try await shop.redeem(plus(shop), for: "ann")
            shop.clock.milliseconds += 10 * Self.day
            _ = try await shop.redeem(shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day), for: "ann")
            // 20 of 30 were left, and the other plan gives 10.
            #expect(try await shop.gems("ann") == 20)
            shop.clock.milliseconds += Self.day
            for share in [100_000, 90_000] as [Int64] {
                let refund = plus(shop, share: share)
                for _ in 0..<2 { try await shop.notify("REFUND", refund) }
                #expect(try await shop.gems("ann") == 20 - (share == 100_000 ? 10 : 7))
                #expect(try await shop.findings() == [])
                shop.clock.milliseconds += 1
                for _ in 0..<2 { try await shop.notify("REFUND_REVERSED", plus(shop)) }
                #expect(try await shop.gems("ann") == 20)
                #expect(try await shop.findings() == [])
                shop.clock.milliseconds += 1
            }
        }
    }

    /// The share refunded, and the balance after the refund, the change of plan and the reversal.
    static let refundsBefore: [(share: Int64, balances: [Int64])] = [
        (50_000, [15, 10, 10]), (100_000, [0, 0, 10]), (80_000, [6, 6, 10]),
    ]

    @Test(arguments: Backend.available, refundsBefore.indices)
    func aChangeOfPlanKeepsItsPartWhenAnEarlierRefundIsReversed(_ backend: Backend, _ index: Int) async throws {
        let (share, balances) = Self.refundsBefore[index]
        try await withShop(backend, superseded: .prorate) { shop async throws in
            _ = try await shop.redeem(plus(shop), for: "ann")
            shop.clock.milliseconds += 10 * Self.day
            try await shop.notify("REFUND", plus(shop, share: share))
            #expect(try await shop.gems("ann") == balances[0])
            shop.clock.milliseconds += 1
            for _ in 0..<2 { _ = try? await shop.redeem(plus(shop, upgraded: true), for: "ann") }
            #expect(try await shop.gems("ann") == balances[1])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", plus(shop))
            #expect(try await shop.gems("ann") == balances[2])
        }
    }

    /// The share of a late refund, and whether its reversal comes first.
    static let lateRefunds: [(share: Int64, isOutOfOrder: Bool)] = [
        (100_000, false), (50_000, false), (100_000, true), (50_000, true),
    ]

    /// A refund that the merchant hears of after the customer has bought another plan.
    @Test(arguments: Backend.available, lateRefunds.indices)
    func aRefundHeardLateEndedThePeriod(_ backend: Backend, _ index: Int) async throws {
        let (share, isOutOfOrder) = Self.lateRefunds[index]
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(plus(shop), for: "ann")
            shop.clock.milliseconds += 5 * Self.day
            let refund = plus(shop, share: share)
            shop.clock.milliseconds += 5 * Self.day
            _ = try await shop.redeem(shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day), for: "ann")
            #expect(try await shop.gems("ann") == 10)
            shop.clock.milliseconds += 1
            let refundedAt = shop.clock.milliseconds
            if !isOutOfOrder {
                for _ in 0..<2 { try await shop.notify("REFUND", refund) }
                #expect(try await shop.gems("ann") == (share == 100_000 ? 10 : 25))
                #expect(try await shop.findings() == [])
            }
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", plus(shop))
            if isOutOfOrder { try await shop.notify("REFUND", refund, signedAt: refundedAt) }
            #expect(try await shop.gems("ann") == 40)
        }
    }

    @Test(arguments: Backend.available) func aRefundHeardLateHasItsOwnFlag(_ backend: Backend) async throws {
        try await withShop(backend) { shop async throws in
            _ = try await shop.redeem(plus(shop), for: "ann")
            _ = try await shop.merchant.spend(SpendRequest(key: "a", currency: "gems", amount: 20), by: "ann")
            shop.clock.milliseconds += 5 * Self.day
            let refund = plus(shop, share: 100_000)
            shop.clock.milliseconds += 5 * Self.day
            _ = try await shop.redeem(shop.purchase("monthly", 2, original: 1, expiresIn: 30 * Self.day), for: "ann")
            let flags = { try await shop.merchant.report(of: "ann").flags.map { "\($0.code): \($0.detail)" } }
            #expect(
                try await flags() == [
                    "superseded_credits_kept: 30 gems were refunded, and 10 of them taken back."
                ])
            _ = try await shop.merchant.spend(SpendRequest(key: "b", currency: "gems", amount: 10), by: "ann")
            try await shop.notify("REFUND", refund)
            #expect(
                try await flags() == ["refunded_credits_kept: 30 gems were refunded, and 10 of them taken back."])
            shop.clock.milliseconds += 1
            try await shop.notify("REFUND_REVERSED", plus(shop))
            #expect(try await flags() == [])
            #expect(try await shop.gems("ann") == 10)
        }
    }

    /// News of one period that was left, refunded and given back, in any order and number.
    enum News: CaseIterable {
        case refund, smallRefund, refundWithoutShare, reversal, change
    }

    /// The larger of both is due, whatever has come before.
    @Test(arguments: Backend.available, [UInt64(1), 2])
    func refundsAndChangesAreDueTogetherAsTheLargerOfThem(_ backend: Backend, _ seed: UInt64) async throws {
        let refunds: RefundPolicy = seed % 2 == 0 ? .toZero : .belowZero
        try await withShop(backend, refund: refunds, superseded: .prorate) { shop async throws in
            var chance = SeededGenerator(seed: seed)
            _ = try await shop.redeem(shop.purchase("coins", 90), plus(shop), for: "ann")
            var (refunded, isPresumed, left): (Int64?, Bool, Int64) = (nil, false, 0)
            for step in 1...25 {
                shop.clock.milliseconds += Self.day / 2 + 1
                let news = News.allCases.randomElement(using: &chance) ?? .change
                switch news {
                case .refund, .smallRefund:
                    let part: Int64 = news == .refund ? Int64.random(in: 1...30, using: &chance) : 1
                    // Rounded up, the share is the part.
                    try await shop.notify("REFUND", plus(shop, share: part * 100_000 / 30))
                    refunded = isPresumed ? part : max(refunded ?? 0, part)
                    isPresumed = false
                case .refundWithoutShare:
                    _ = try? await shop.redeem(
                        shop.purchase(
                            "plus", 1, expiresIn: 30 * Self.day, purchasedAt: TestClock.start, revoked: true),
                        for: "ann")
                    if refunded == nil { (refunded, isPresumed) = (30, true) }
                case .reversal:
                    try await shop.notify("REFUND_REVERSED", plus(shop))
                    (refunded, isPresumed) = (nil, false)
                case .change:
                    _ = try? await shop.redeem(plus(shop, upgraded: true), for: "ann")
                    let rest = TestClock.start + 30 * Self.day - shop.clock.milliseconds
                    if left == 0 { left = (rest + Self.day - 1) / Self.day }
                }
                #expect(try await shop.gems("ann") == 130 - max(refunded ?? 0, left), "\(step): \(news)")
                #expect(try await shop.findings() == [])
            }
        }
    }

    // MARK: Trials and shared copies

    @Test(arguments: Backend.available, [true, false])
    func aTrialGivesRightsAndCreditsByPolicy(_ backend: Backend, _ givesCredits: Bool) async throws {
        try await withShop(backend, trials: givesCredits) { shop async throws in
            let trial = shop.purchase("plus", 1, expiresIn: 7 * Self.day, trial: true)
            let answer = try await shop.redeem(trial, for: "ann")
            #expect(answer.redeemed.first?.grants.contains(.entitlement("plus")) == true)
            #expect(try await shop.redeem(trial, for: "ann") == answer)
            #expect(try await shop.rights("ann") == ["plus": .active])
            #expect(try await shop.gems("ann") == (givesCredits ? 30 : 0))
            // The first period that is paid for gives them.
            shop.clock.milliseconds += 7 * Self.day
            try await shop.notify(
                "DID_RENEW",
                shop.purchase("plus", 2, original: 1, expiresIn: 30 * Self.day, renewal: true, trial: false))
            #expect(try await shop.gems("ann") == (givesCredits ? 60 : 30))
        }
    }

    @Test(arguments: Backend.available, [true, false])
    func aFamilysCopiesGiveRightsAndCreditsByPolicy(_ backend: Backend, _ giveCredits: Bool) async throws {
        try await withShop(backend, shared: giveCredits) { shop async throws in
            let family: [UserID] = ["ann", "bob", "cid", "dan", "eve", "fay"]
            for (number, user) in family.enumerated() {
                // Each has a transaction and an original of its own.
                _ = try await shop.redeem(
                    shop.purchase("plus", 10 + number, expiresIn: 30 * Self.day, shared: number > 0), for: user)
                #expect(try await shop.rights(user) == ["plus": .active])
            }
            var gems: [Int64] = []
            for user in family { gems.append(try await shop.gems(user)) }
            #expect(gems == (giveCredits ? Array(repeating: 30, count: 6) : [30, 0, 0, 0, 0, 0]))
        }
    }

    @Test func evidenceSaysWhatATrialAndACopyAre() async throws {
        try await withShop(.sqlite) { shop async throws in
            func grants(_ evidence: Evidence) async throws -> [ProductGrant]? {
                try await shop.merchant.redeem(evidence, for: "ann").redeemed.first?.grants
            }
            let end: [String: Any] = [
                "expiresDate": shop.clock.milliseconds + Self.day, "type": "Auto-Renewable Subscription",
            ]
            let marks: [([String: Any], Bool)] = [
                (["offerType": 1, "offerDiscountType": "FREE_TRIAL"], false),
                (["offerType": 1, "offerDiscountType": "PAY_UP_FRONT"], true),
                (["inAppOwnershipType": "FAMILY_SHARED"], false), (["inAppOwnershipType": "PURCHASED"], true),
            ]
            for (number, (mark, givesCredits)) in marks.enumerated() {
                let fields = shop.transaction(
                    "plus", "200000000000000\(number)", mark.merging(end) { $1 })
                let given = try await grants(.signedTransaction(try shop.sign(fields)))
                #expect(given?.contains(where: \.isCredits) == givesCredits, "\(mark)")
            }
            var trial = shop.inApp("plus", "2000000000000009", expiresIn: 60)
            trial.isTrialPeriod = true
            #expect(try await grants(.receipt(try shop.receipt([trial]))) == [.entitlement("plus")])
            // Cornerstore's app receipts mark copies.
            var copy = shop.inApp("plus", "2000000000000010", expiresIn: 60)
            copy.otherAttributes = InAppPurchase.serverAttributes(accountToken: nil, isFamilyShared: true)
            #expect(try await grants(.receipt(try shop.receipt([copy]))) == [.entitlement("plus")])
            for (id, isTrial) in [("200000000000011", true), ("200000000000012", false)] {
                let date = ReceiptDate(milliseconds: shop.clock.milliseconds)
                let signer = shop.authority.receiptSigner(for: .production)
                let receipt = try SignedTransactionReceipt.signed(
                    TransactionReceipt(
                        quantity: 1, productID: "plus", transactionID: id, originalTransactionID: id,
                        bundleID: TestMerchant.bundleID.rawValue, bundleVersion: "1", purchaseDate: date,
                        originalPurchaseDate: date,
                        expiresDate: ReceiptDate(milliseconds: date.milliseconds + Self.day),
                        isTrialPeriod: isTrial),
                    environment: .production, certificate: signer.leafCertificate
                ) { try signer.signature(overSHA1Of: $0) }
                let given = try await grants(.receipt(receipt.bytes))
                #expect(given?.contains(where: \.isCredits) == !isTrial, "a trial: \(isTrial)")
            }
        }
        let answer = try RemoteReceipt(
            Array(
                """
                {"status":0,"environment":"Production","receipt":{"bundle_id":"b","request_date_ms":"5000","in_app":[
                {"transaction_id":"1","product_id":"p","purchase_date_ms":"1","is_trial_period":"true",
                "in_app_ownership_type":"FAMILY_SHARED"},
                {"transaction_id":"2","product_id":"p","purchase_date_ms":"1","is_trial_period":"false",
                "in_app_ownership_type":"PURCHASED"},
                {"transaction_id":"3","product_id":"p","purchase_date_ms":"1"}]}}
                """.utf8))
        let purchases = answer.purchases(anchor: "a", environment: .production, bundleID: "b")
        #expect(purchases.map(\.isTrial) == [true, false, nil])
        #expect(purchases.map(\.isShared) == [true, false, nil])
    }
}
