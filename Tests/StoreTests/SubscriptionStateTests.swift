import StoreReceipts
import StoreWire
import Testing

@testable import Store

/// The state machine alone: what each event does in each state.
@Suite(.timeLimit(.minutes(1))) struct SubscriptionStateTests {
    private static let day: Int64 = 86_400_000
    private static let end: Int64 = 200 * day
    private let policy = RenewalPolicy(lead: 0, retryDays: [1, 5, 20], lastRetryDay: 30)
    private static let grace = end + 16 * day

    private func period(_ id: Int64, from start: Int64, product: ProductID = "club.monthly") -> Transaction {
        Transaction(
            accountID: AccountID("ape"), transactionID: TransactionID(rawValue: id),
            originalTransactionID: TransactionID(rawValue: 1), bundleID: "com.example", productID: product, itemID: 1,
            kind: .autoRenewableSubscription, quantity: 1, price: Money(milliunits: 990, currency: "USD"),
            storefront: "USA", purchaseDate: start, originalPurchaseDate: Self.end - 30 * Self.day)
    }

    private func begun(_ policy: RenewalPolicy) -> Subscription {
        Subscription(
            period(1, from: Self.end - 30 * Self.day), group: "21000001", expires: Self.end, nextLineItemID: 2,
            remainingOffer: nil, policy: policy)
    }

    private func words(_ news: [SubscriptionNews]) -> [String] {
        news.map { [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: "/") }
    }

    @Test func aRenewalBeginsWhereTheLastPeriodEnded() {
        var subscription = begun(policy)
        #expect(subscription.dueAt == Self.end && subscription.duty(policy) == .renew)
        #expect(subscription.nextStart(paidAt: Self.end) == Self.end)
        let news = subscription.renewed(
            by: period(2, from: Self.end), at: Self.end, expires: Self.end + 31 * Self.day, nextLineItemID: 3,
            remainingOffer: nil, policy: policy)
        #expect(words(news) == ["DID_RENEW"] && subscription.renewals == 1)
        #expect(subscription.dueAt == Self.end + 31 * Self.day && subscription.nextLineItemID == 3)
        #expect(subscription.isActive(at: Self.end + 31 * Self.day - 1))
        #expect(!subscription.isActive(at: Self.end + 31 * Self.day))
    }

    @Test func aPaymentThatFailsBeforeTheEndIsNotNews() {
        var early = policy
        early.lead = Self.day
        var subscription = begun(early)
        #expect(subscription.dueAt == Self.end - Self.day)
        #expect(subscription.chargeFailed(at: Self.end - Self.day, grace: nil, policy: early).isEmpty)
        #expect(subscription.state == .active && subscription.dueAt == Self.end)
    }

    @Test func withoutGraceTheAccessEndsAndTheStoreTriesUntilItGivesUp() {
        var subscription = begun(policy)
        #expect(
            words(subscription.chargeFailed(at: Self.end, grace: nil, policy: policy)) == ["DID_FAIL_TO_RENEW"])
        #expect(subscription.state == .billingRetry && !subscription.isActive(at: Self.end))
        var dates: [Int64] = []
        while subscription.duty(policy) == .renew, let date = subscription.dueAt {
            dates.append((date - Self.end) / Self.day)
            #expect(subscription.chargeFailed(at: date, grace: nil, policy: policy).isEmpty)
        }
        #expect(dates == [1, 5, 20] && subscription.duty(policy) == .giveUp)
        #expect(subscription.dueAt == Self.end + 30 * Self.day)
        #expect(words(subscription.expire(.billingError, at: Self.end + 30 * Self.day)) == ["EXPIRED/BILLING_RETRY"])
        #expect(subscription.dueAt == nil && subscription.duty(policy) == nil)
        let element = PendingRenewal(subscription)
        #expect(element?.expirationIntent == .billingError && element?.isInBillingRetryPeriod == false)
        #expect(element?.autoRenewStatus == false)
    }

    @Test func aGracePeriodKeepsTheAccessAndTheCycle() {
        var subscription = begun(policy)
        let failed = subscription.chargeFailed(at: Self.end, grace: Self.grace, policy: policy)
        #expect(words(failed) == ["DID_FAIL_TO_RENEW/GRACE_PERIOD"] && subscription.state == .gracePeriod)
        #expect(subscription.isActive(at: Self.end + 16 * Self.day - 1))
        #expect(!subscription.isActive(at: Self.end + 16 * Self.day))
        let element = PendingRenewal(subscription)
        #expect(element?.isInBillingRetryPeriod == true && element?.autoRenewStatus == true)
        #expect(element?.gracePeriodExpiresDate == ReceiptDate(milliseconds: Self.end + 16 * Self.day))
        var recovered = subscription
        #expect(recovered.nextStart(paidAt: Self.end + Self.day) == Self.end)
        let news = recovered.renewed(
            by: period(2, from: Self.end), at: Self.end + Self.day, expires: Self.end + 31 * Self.day,
            nextLineItemID: 3, remainingOffer: nil, policy: policy)
        #expect(words(news) == ["DID_RENEW/BILLING_RECOVERY"] && recovered.state == .active)
        #expect(PendingRenewal(recovered)?.gracePeriodExpiresDate == nil)
        // Not paid: the grace period ends between two attempts, and a later recovery moves the cycle.
        _ = subscription.chargeFailed(at: Self.end + Self.day, grace: Self.grace, policy: policy)
        _ = subscription.chargeFailed(at: Self.end + 5 * Self.day, grace: Self.grace, policy: policy)
        #expect(subscription.dueAt == Self.end + 16 * Self.day && subscription.duty(policy) == .endGracePeriod)
        let over = subscription.gracePeriodEnded(at: Self.end + 16 * Self.day, policy: policy)
        #expect(words(over) == ["GRACE_PERIOD_EXPIRED"] && subscription.dueAt == Self.end + 20 * Self.day)
        #expect(subscription.nextStart(paidAt: Self.end + 20 * Self.day + 999) == Self.end + 20 * Self.day)
    }

    @Test func autoRenewCanBeTurnedOffAndOnUntilTheEnd() {
        var subscription = begun(policy)
        #expect(words(subscription.turnAutoRenewOff(at: 1)) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
        #expect(subscription.turnAutoRenewOff(at: 2).isEmpty)
        #expect(subscription.isActive(at: Self.end - 1) && subscription.duty(policy) == .expire)
        let on = subscription.turnAutoRenewOn(at: Self.end - 1, policy: policy)
        #expect(on.map(words) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"])
        #expect(subscription.turnAutoRenewOn(at: Self.end - 1, policy: policy)?.isEmpty == true)
        _ = subscription.turnAutoRenewOff(at: Self.end - 1)
        #expect(words(subscription.expire(.cancelled, at: Self.end)) == ["EXPIRED/VOLUNTARY"])
        #expect(subscription.turnAutoRenewOn(at: Self.end, policy: policy) == nil)
        #expect(PendingRenewal(subscription)?.expirationIntent == .cancelled)
    }

    @Test(arguments: [false, true]) func aCancellationWithAnOverduePaymentEndsAtOnce(_ hasGrace: Bool) {
        var subscription = begun(policy)
        _ = subscription.chargeFailed(at: Self.end, grace: hasGrace ? Self.grace : nil, policy: policy)
        let news = subscription.turnAutoRenewOff(at: Self.end + 1)
        #expect(words(news) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/BILLING_RETRY"])
        #expect(subscription.state == .expired && subscription.dueAt == nil)
        #expect(PendingRenewal(subscription) == nil)
    }

    @Test func theSandboxTurnsAutoRenewOff() {
        var sandbox = policy
        sandbox.mostRenewals = 1
        var subscription = begun(sandbox)
        _ = subscription.renewed(
            by: period(2, from: Self.end), at: Self.end, expires: Self.end + Self.day, nextLineItemID: 3,
            remainingOffer: nil, policy: sandbox)
        #expect(subscription.duty(sandbox) == .expire)
        let news = subscription.expire(.cancelled, at: Self.end + Self.day)
        #expect(words(news) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "EXPIRED/VOLUNTARY"])
        // A purchase counts anew.
        let again = subscription.bought(
            period(3, from: Self.end + 2 * Self.day), at: Self.end + 2 * Self.day, expires: Self.end + 3 * Self.day,
            nextLineItemID: 4,
            remainingOffer: nil, policy: sandbox)
        #expect(words(again) == ["SUBSCRIBED/RESUBSCRIBE"] && subscription.duty(sandbox) == .renew)
        #expect(subscription.originalTransactionID.rawValue == 1 && subscription.expirationIntent == nil)
    }

    @Test func anotherProductDuringAPeriodIsAChangeOfPlan() {
        var subscription = begun(policy)
        let news = subscription.bought(
            period(2, from: Self.end - Self.day, product: "club.yearly"), at: Self.end - Self.day,
            expires: Self.end + 364 * Self.day, nextLineItemID: 9, remainingOffer: nil, policy: policy)
        #expect(words(news) == ["DID_CHANGE_RENEWAL_PREF/UPGRADE"] && subscription.renewalProductID == "club.yearly")
    }

    @Test func aLowerPlanWaitsForTheRenewalAndCanBeTakenBack() {
        var subscription = begun(policy)
        func choose(_ product: ProductID, _ offer: String? = nil, at date: Int64) -> [String] {
            words(
                subscription.choose(
                    product, offer: offer.map { WaitingOffer(name: NamedOffer(.promotional, $0), accepted: nil) },
                    at: date, policy: policy))
        }
        #expect(choose("club.weekly", at: 1) == ["DID_CHANGE_RENEWAL_PREF/DOWNGRADE"])
        #expect(choose("club.weekly", at: 2).isEmpty)
        #expect(subscription.productID == "club.monthly" && subscription.renewalProductID == "club.weekly")
        #expect(PendingRenewal(subscription)?.autoRenewProductID == "club.weekly")
        #expect(choose("club.monthly", at: 3) == ["DID_CHANGE_RENEWAL_PREF"])
        #expect(choose("club.monthly", "half", at: 4) == ["OFFER_REDEEMED"])
        #expect(choose("club.weekly", "less", at: 5) == ["OFFER_REDEEMED/DOWNGRADE"])
        // The choice turns auto-renew on again.
        _ = subscription.turnAutoRenewOff(at: 6)
        #expect(
            choose("club.monthly", at: 7) == [
                "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_PREF",
            ])
        #expect(subscription.dueAt == Self.end && subscription.nextOffer == nil)
    }

    @Test func anOfferThatIsAcceptedAgainHasTheTermsOfTheLaterDay() {
        var subscription = begun(policy)
        func offer(_ milliunits: Int64) -> WaitingOffer {
            let terms = OfferDescription(
                offerID: "half", price: Money(milliunits: milliunits, currency: "USD"), paymentMode: .payAsYouGo,
                period: SubscriptionPeriod(unit: .month, count: 1), numberOfPeriods: 1)
            return WaitingOffer(
                name: NamedOffer(.promotional, "half"),
                accepted: AcceptedOffer(terms, stacks: false, endsSubscription: false))
        }
        let first = subscription.choose("club.monthly", offer: offer(2990), at: 1, policy: policy)
        #expect(words(first) == ["OFFER_REDEEMED"])
        _ = subscription.turnAutoRenewOff(at: 2)
        let again = subscription.choose("club.monthly", offer: offer(1990), at: 3, policy: policy)
        #expect(words(again) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"])
        #expect(subscription.waitingOffer == offer(1990))
    }

    @Test(arguments: [false, true]) func buyingTheSameWhileAPaymentIsOverdueRecovers(_ isInGrace: Bool) {
        var subscription = begun(policy)
        _ = subscription.chargeFailed(at: Self.end, grace: isInGrace ? Self.grace : nil, policy: policy)
        let news = subscription.bought(
            period(2, from: isInGrace ? Self.end : Self.end + Self.day), at: Self.end + Self.day,
            expires: Self.end + 31 * Self.day, nextLineItemID: 3, remainingOffer: nil, policy: policy)
        #expect(words(news) == ["DID_RENEW/BILLING_RECOVERY"] && news.first?.date == Self.end + Self.day)
        #expect(subscription.state == .active && subscription.renewals == 1 && subscription.graceEnds == nil)
    }

    @Test func aReversedRefundGivesTheRestOfThePeriodBack() {
        var subscription = begun(policy)
        let id = TransactionID(rawValue: 1)
        _ = subscription.refunded(id, at: 5)
        #expect(words(subscription.refundReversed(id, at: 6)) == ["REFUND_REVERSED"])
        #expect(subscription.state == .active && !subscription.willRenew && subscription.dueAt == Self.end)
        _ = subscription.refunded(id, at: 7)
        // After the end there is nothing to give back.
        #expect(words(subscription.refundReversed(id, at: Self.end)) == ["REFUND_REVERSED", "EXPIRED/VOLUNTARY"])
        #expect(subscription.state == .expired && subscription.dueAt == nil)
    }

    @Test func shortenedPeriodsShortenTheRetriesAlike() {
        var subscription = Subscription(
            period(1, from: 0), group: "21000001", expires: 300_000, rate: .fiveMinutes, nextLineItemID: 2,
            remainingOffer: nil, policy: RenewalPolicy(lead: Self.day))
        #expect(subscription.dueAt == 300_000)
        let usual = RenewalPolicy(lead: Self.day)
        _ = subscription.chargeFailed(at: 300_000, grace: nil, policy: usual)
        var attempts = 0
        while subscription.duty(usual) == .renew, let date = subscription.dueAt {
            attempts += 1
            _ = subscription.chargeFailed(at: date, grace: nil, policy: usual)
        }
        #expect(attempts == RenewalPolicy.usualRetryDays.count && subscription.duty(usual) == .giveUp)
        #expect(subscription.dueAt == 900_000)
    }

    @Test func whoNeverRenewsEndsWithThePeriod() {
        for policy in [self.policy, RenewalPolicy(lead: Self.day)] {
            let subscription = Subscription(
                period(1, from: 0), group: "21000001", expires: Self.end, rate: .never, nextLineItemID: 2,
                remainingOffer: nil, policy: policy)
            #expect(subscription.duty(policy) == .expire && subscription.dueAt == Self.end)
        }
    }

    /// After the last renewal of the sandbox, the subscription ends with its period, however early renewals are
    /// charged.
    @Test func aPeriodWithoutARenewalIsNotEndedEarly() {
        let early = RenewalPolicy(lead: Self.day, mostRenewals: 1)
        var subscription = begun(early)
        #expect(subscription.duty(early) == .renew && subscription.dueAt == Self.end - Self.day)
        _ = subscription.renewed(
            by: period(2, from: Self.end), at: Self.end - Self.day, expires: Self.end + 31 * Self.day,
            nextLineItemID: 3, remainingOffer: nil, policy: early)
        #expect(subscription.duty(early) == .expire && subscription.dueAt == Self.end + 31 * Self.day)
        _ = subscription.moveEnd(to: Self.end + 40 * Self.day, at: Self.end, isExtension: true, policy: early)
        #expect(subscription.duty(early) == .expire && subscription.dueAt == Self.end + 40 * Self.day)
    }

    /// In a grace period the customer is active, but no paid period lasts.
    @Test func aGracePeriodIsActiveAndNoPeriod() {
        var subscription = begun(policy)
        #expect(subscription.isActive(at: Self.end - 1) && subscription.isInPeriod(at: Self.end - 1))
        #expect(!subscription.isActive(at: Self.end) && !subscription.isInPeriod(at: Self.end))
        _ = subscription.chargeFailed(at: Self.end, grace: Self.grace, policy: policy)
        #expect(subscription.isActive(at: Self.grace - 1) && !subscription.isInPeriod(at: Self.grace - 1))
        #expect(!subscription.isActive(at: Self.grace))
    }

    @Test func onlyTheLastPeriodsRefundEndsTheSubscription() {
        var subscription = begun(policy)
        _ = subscription.renewed(
            by: period(2, from: Self.end), at: Self.end, expires: Self.end + 31 * Self.day, nextLineItemID: 3,
            remainingOffer: nil, policy: policy)
        #expect(words(subscription.refunded(TransactionID(rawValue: 1), at: Self.end + 1)) == ["REFUND"])
        #expect(subscription.state == .active && subscription.willRenew)
        let last = subscription.refunded(TransactionID(rawValue: 2), at: Self.end + 2)
        #expect(words(last) == ["REFUND", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"])
        #expect(subscription.state == .revoked && subscription.dueAt == nil)
        #expect(!subscription.isActive(at: Self.end + 3))
        #expect(PendingRenewal(subscription)?.expirationIntent == nil)
    }
}
