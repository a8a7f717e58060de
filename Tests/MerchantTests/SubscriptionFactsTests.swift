import MerchantWire
import StoreWire
import TestSupport
import Testing

@testable import Merchant

/// What the merchant knows of one subscription, without a database.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionFactsTests {
    static let day: Int64 = 86_400_000

    /// A transaction of the subscription.
    static func period(
        _ product: ProductID, _ number: Int, from start: Int64, days length: Int64 = 30, isNumbered: Bool = true,
        revokedAt: Int64? = nil, upgraded: Bool? = false, token: String? = nil, signedAt: Int64
    ) -> VerifiedPurchase {
        VerifiedPurchase(
            anchor: "test", environment: .production, bundleID: "com.example.books", productID: product,
            statedKind: .autoRenewableSubscription, transactionID: String(number), originalTransactionID: "1",
            quantity: 1, purchasedAt: start, expiresAt: start + length * day,
            webOrderLineItemID: isNumbered ? String(number) : nil, revokedAt: revokedAt, revokedShare: nil,
            isUpgraded: upgraded, accountToken: token, signedAt: signedAt)
    }

    static func key(_ purchase: VerifiedPurchase) -> RedemptionKey { RedemptionKey(purchase, .period) }

    private func facts(_ purchase: VerifiedPurchase, _ statement: RenewalStatement? = nil) -> Subscription {
        Subscription(purchase, Self.key(purchase), statement)
    }

    private func refund(_ purchase: VerifiedPurchase, isReversal: Bool = false, signedAt: Int64) -> Subscription {
        Subscription(refundOf: purchase, Self.key(purchase), isReversal: isReversal, signedAt: signedAt)
    }

    private func merged(_ all: [Subscription]) -> Subscription {
        all.reduce(into: Subscription()) { $0.merge($1) }
    }

    private func news(
        _ type: String, _ subtype: String? = nil, signedAt: Int64, grace: Int64? = nil, willRenew: Bool? = nil
    ) -> RenewalStatement {
        RenewalStatement(
            VerifiedNotification(
                notificationID: "n", type: type, subtype: subtype, signedAt: signedAt, purchase: nil,
                renewal: .init(willRenew: willRenew, renewsAs: nil, graceUntil: grace)))
    }

    // MARK: Any order

    /// The facts of a made-up life of a subscription: renewals, changes of plan, lapses, refunds and their reversals,
    /// extensions and grace periods, as receipts, signed transactions and notifications state them.
    private static func life(_ chance: inout SeededGenerator) -> [Subscription] {
        var facts: [Subscription] = []
        var start = Int64.random(in: 0...1_000_000, using: &chance) * 1_000
        for number in 1...Int.random(in: 1...7, using: &chance) {
            let product = ["gold", "plus", "monthly"].randomElement(using: &chance) ?? "gold"
            let length: Int64 = [7, 30, 365].randomElement(using: &chance) ?? 30
            let fraction = Int64.random(in: 0..<1_000, using: &chance)
            func stated(_ signedAt: Int64, revokedAt: Int64? = nil, upgraded: Bool? = false) -> VerifiedPurchase {
                let isReceipt = upgraded == nil
                return period(
                    ProductID(product), number, from: isReceipt ? start : start + fraction, days: length,
                    isNumbered: number % 5 != 0, revokedAt: revokedAt, upgraded: upgraded,
                    token: number % 2 == 0 ? nil : "token-\(number / 3)", signedAt: signedAt)
            }
            let end = start + length * day
            func moment() -> Int64 { Int64.random(in: start...(end + 20 * day), using: &chance) / 1_000 * 1_000 }
            facts.append(Subscription(stated(start), key(stated(start))))
            for _ in 0..<Int.random(in: 1...6, using: &chance) {
                let (signedAt, other) = (moment(), moment())
                let purchase = stated(signedAt)
                switch Int.random(in: 0..<9, using: &chance) {
                case 0:
                    let receipt = stated(signedAt, upgraded: nil)
                    facts.append(Subscription(receipt, key(receipt)))
                case 1: facts.append(Subscription(stated(signedAt, upgraded: true), key(purchase)))
                case 2: facts.append(Subscription(stated(signedAt, revokedAt: other), key(purchase)))
                case 3, 4:
                    for isReversal in [false, true] {
                        facts.append(
                            Subscription(
                                refundOf: purchase, key(purchase), isReversal: isReversal,
                                signedAt: isReversal && Bool.random(using: &chance) ? other : signedAt))
                    }
                case 5:
                    let longer = period(
                        ProductID(product), number, from: start, days: length + 5, isNumbered: number % 5 != 0,
                        signedAt: signedAt)
                    facts.append(Subscription(longer, key(longer)))
                default:
                    let grace: RenewalStatement.Grace? =
                        [nil, .absent, .until(end + 6 * day)].randomElement(
                            using: &chance) ?? nil
                    let statement = RenewalStatement(
                        signedAt: signedAt, willRenew: [nil, true, false].randomElement(using: &chance) ?? nil,
                        renewsAs: [nil, "gold", "plus"].randomElement(using: &chance) ?? nil, grace: grace)
                    facts.append(Subscription(purchase, key(purchase), statement))
                }
            }
            // A renewal, a change of plan, a change in the same second, or a new start after a while.
            start =
                [end, end - day / 2, (start + end) / 2_000 * 1_000, start, end + 40 * day].randomElement(
                    using: &chance) ?? end
        }
        return facts
    }

    @Test func factsCountInAnyOrderAndNumber() {
        for seed in 1...300 as ClosedRange<UInt64> {
            var chance = SeededGenerator(seed: seed)
            let life = Self.life(&chance)
            let expected = merged(life)
            let dates = (0..<40).map { _ in Int64.random(in: 0...(4_000 * Self.day), using: &chance) }
            for _ in 0..<4 {
                let repeated = (life + life.filter { _ in Bool.random(using: &chance) }).shuffled(using: &chance)
                var value = merged(repeated)
                guard value == expected, dates.allSatisfy({ value.access(at: $0) == expected.access(at: $0) }),
                    value.replacements == expected.replacements
                else {
                    Issue.record("seed \(seed): \(repeated) ended with another subscription")
                    return
                }
                // Two halves that were merged apart are as good, and the same once more changes nothing.
                let half = repeated.count / 2
                value = merged([merged(Array(repeated[half...])), merged(Array(repeated[..<half]))])
                value.merge(expected)
                #expect(value == expected, "seed \(seed)")
            }
        }
    }

    // MARK: Access

    @Test func aGracePeriodKeepsTheAccessUntilItEnds() {
        let month = Self.period("plus", 1, from: 0, signedAt: 0)
        let end = 30 * Self.day
        let grace = end + 6 * Self.day
        var value = merged([
            facts(month),
            facts(month, news("DID_FAIL_TO_RENEW", "GRACE_PERIOD", signedAt: end + 9, grace: grace)),
        ])
        #expect(value.access(at: -1) == nil)
        #expect(value.access(at: end - 1)?.state(at: end - 1) == .active)
        #expect(value.access(at: end) == .init(productID: "plus", expiresAt: end, graceUntil: grace))
        #expect(value.access(at: grace - 1)?.state(at: grace - 1) == .grace)
        #expect(value.access(at: grace) == nil)
        // Cancelled in it: the renewal information still has its end.
        let cancelled = news("EXPIRED", "BILLING_RETRY", signedAt: end + 10, grace: grace, willRenew: false)
        value.merge(facts(month, cancelled))
        #expect(value.access(at: end) == nil)
        #expect(value.willRenew?.value == false)
    }

    @Test(arguments: ["DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED"])
    func thereIsNoAccessWithoutAGracePeriod(_ type: String) {
        let month = Self.period("plus", 1, from: 0, signedAt: 0)
        let value = facts(month, news(type, signedAt: 30 * Self.day, grace: 99 * Self.day))
        #expect(value.access(at: 30 * Self.day - 1) != nil)
        #expect(value.access(at: 30 * Self.day) == nil)
    }

    /// The store charged before the end of the period, and reported the failure before that at the end.
    @Test func aRecoveryMayBeSignedBeforeTheFailure() {
        let first = Self.period("plus", 1, from: 0, signedAt: 0)
        let end = 30 * Self.day
        let second = Self.period("plus", 2, from: end, signedAt: end - 9)
        let all = [
            facts(first),
            facts(second, news("DID_RENEW", "BILLING_RECOVERY", signedAt: end - 9, willRenew: true)),
            facts(first, news("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", signedAt: end - 5, willRenew: false)),
            facts(first, news("DID_FAIL_TO_RENEW", "GRACE_PERIOD", signedAt: end + 1, grace: end + 6 * Self.day)),
        ]
        for order in [all, all.reversed()] {
            let value = merged(order)
            #expect(value.access(at: end) == .init(productID: "plus", expiresAt: 60 * Self.day))
            #expect(value.access(at: 60 * Self.day) == nil)
            #expect(value.willRenew?.value == false)
        }
    }

    @Test func aRefundMayComeBeforeItsPeriodAndItsReversalBeforeBoth() {
        let month = Self.period("plus", 1, from: 0, signedAt: 0)
        var value = refund(month, isReversal: true, signedAt: 30)
        value.merge(refund(month, signedAt: 20))
        value.merge(facts(month))
        #expect(value.access(at: 100)?.revokedAt == nil)
        value.merge(refund(month, signedAt: 40))
        #expect(value.access(through: Self.key(month))?.revokedAt == 40)
        // At every date, as the clock may have been set back since the refund.
        for date in [39, 40] as [Int64] { #expect(value.access(at: date) == nil) }
        #expect(value.isRefunded(Self.key(month)))
    }

    @Test func aRefundOfAnEarlierPeriodChangesNothing() {
        let first = Self.period("plus", 1, from: 0, signedAt: 0)
        let second = Self.period("plus", 2, from: 30 * Self.day, signedAt: 0)
        var value = merged([facts(second), refund(first, signedAt: 31 * Self.day)])
        #expect(value.access(at: 32 * Self.day)?.expiresAt == 60 * Self.day)
        value.merge(refund(second, signedAt: 33 * Self.day))
        #expect(value.access(at: 33 * Self.day) == nil)
    }

    @Test func aPlanThatWasLeftEndsAndMayComeLate() {
        let year = Self.period("gold", 1, from: 0, days: 365, signedAt: 0)
        let month = Self.period("plus", 2, from: 10 * Self.day, signedAt: 0)
        let value = merged([facts(month), facts(year)])
        #expect(value.access(at: 9 * Self.day)?.productID == "gold")
        #expect(value.access(through: Self.key(year))?.expiresAt == 10 * Self.day)
        #expect(value.access(at: 10 * Self.day)?.productID == "plus")
        #expect(value.access(at: 40 * Self.day) == nil)
        #expect(value.replacement(of: Self.key(year))?.moment == 10 * Self.day)
        #expect(value.replacement(of: Self.key(month)) == nil)
    }

    /// A refund before the new plan ended the old one, whenever it is reported, and even if it is reversed.
    @Test func aRefundedPlanWasNotReplaced() {
        let year = Self.period("gold", 1, from: 0, days: 365, revokedAt: 5 * Self.day, signedAt: 5 * Self.day)
        let month = Self.period("plus", 2, from: 10 * Self.day, signedAt: 0)
        var value = merged([facts(month), facts(year)])
        #expect(value.replacement(of: Self.key(year)) == nil)
        value.merge(refund(Self.period("gold", 1, from: 0, days: 365, signedAt: 0), isReversal: true, signedAt: .max))
        #expect(value.replacement(of: Self.key(year)) == nil)
        #expect(!value.isRefunded(Self.key(year)))
    }

    @Test func theEndThatWasSignedLastCountsWheneverItComes() {
        let month = Self.period("plus", 1, from: 0, signedAt: 1)
        let longer = Self.period("plus", 1, from: 0, days: 45, signedAt: 2)
        let shorter = Self.period("plus", 1, from: 0, days: 10, signedAt: 3)
        for order in [[month, longer], [longer, month]] {
            #expect(merged(order.map { facts($0) }).access(at: 40 * Self.day)?.expiresAt == 45 * Self.day)
        }
        for order in [[month, longer, shorter], [shorter, longer, month], [longer, shorter, month]] {
            let value = merged(order.map { facts($0) })
            #expect(value.access(at: 9 * Self.day)?.expiresAt == 10 * Self.day)
            #expect(value.access(at: 10 * Self.day) == nil)
        }
        // An end without a date of its statement, which an earlier program recorded, counts least.
        var recorded = Subscription.Period(
            key: Self.key(month), productID: "plus", purchasedAt: 0, expiresAt: 90 * Self.day)
        recorded.merge(facts(month).periods[0])
        #expect(recorded.expiresAt == 30 * Self.day)
    }

    /// Each of a receipt's purchases asks which replacements are new. To look for each in a list of the known ones
    /// takes well over ten times as long as to make the lists.
    @Test func `a long subscription's new replacements are found in little more time than the lists take`() {
        let count = 2_000
        let periods = (0..<count).map { number in
            facts(
                Self.period(
                    number.isMultiple(of: 2) ? "gold" : "plus", number, from: Int64(number) * Self.day, signedAt: 0))
        }
        let all = merged(periods)
        #expect(all.replacements.count == count - 1)
        #expect(all.replacements(missingIn: nil) == all.replacements)
        // Of three periods, two were replaced.
        #expect(all.replacements(missingIn: merged(Array(periods.prefix(3)))).count == count - 3)
        let lists = ProcessorTime.of { for _ in 0..<5 { _ = all.replacements.count } }
        let search = ProcessorTime.of { for _ in 0..<5 { _ = all.replacements(missingIn: all).count } }
        #expect(search < lists * 8, "\(search), and \(lists) for the lists")
    }

    // MARK: pending_renewal_info

    @Test func verifyReceiptStatesTheRenewal() throws {
        func statement(_ members: String?) throws -> RenewalStatement? {
            let pending = members.map { "[{\"original_transaction_id\":\"1\",\($0)}]" } ?? "[]"
            return try RemoteReceipt(
                Array(
                    """
                    {"status":0,"environment":"Production","pending_renewal_info":\(pending),
                    "latest_receipt_info":[{"transaction_id":"2","original_transaction_id":"1","product_id":"plus",
                    "purchase_date_ms":"1000","expires_date_ms":"9000"}],
                    "receipt":{"bundle_id":"b","request_date_ms":"5000","in_app":[]}}
                    """.utf8)
            ).renewals["1"]
        }
        let renewing = #""auto_renew_product_id":"gold","product_id":"plus","auto_renew_status":"1""#
        #expect(
            try statement(renewing)
                == RenewalStatement(
                    signedAt: 5_000, willRenew: true, renewsAs: "gold", grace: .absent))
        let overdue = renewing + #","expiration_intent":"2","is_in_billing_retry_period":"1""#
        #expect(try statement(overdue)?.grace == .absent)
        let grace = #","grace_period_expires_date_ms":"12000""#
        #expect(try statement(overdue + grace)?.grace == .until(12_000))
        let over = #""auto_renew_status":"0","expiration_intent":"2","is_in_billing_retry_period":"0""#
        #expect(
            try statement(over + grace)
                == RenewalStatement(signedAt: 5_000, willRenew: false, grace: .absent))
        // Cancelled while the payment was overdue.
        #expect(try statement(nil) == RenewalStatement(signedAt: 5_000, grace: .absent))
    }
}
