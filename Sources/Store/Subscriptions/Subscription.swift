import StoreReceipts
import StoreWire

/// A customer's subscription of one group, from its first purchase on, over lapses and changes of plan.
///
/// This is a pure state machine. Its methods take the date of an event and what the event brought, such as a period
/// that was paid, and return the news for the merchant. It knows no clock and no database. Dates are milliseconds since
/// 1970 by the store's clock.
///
/// The states, identifiers and dates are those that Apple documents or that real receipts and notifications show.
public struct Subscription: Sendable, Equatable {
    /// The state of a subscription. The raw values are those of the database and of the control port.
    public enum State: String, Sendable, CaseIterable {
        /// The customer has a paid period, or is in a free trial.
        case active
        /// A renewal was not paid. The customer keeps the access until the grace period is over.
        case gracePeriod
        /// A renewal was not paid, and there is no grace period or no longer one. The store still tries to charge.
        case billingRetry
        /// The subscription is over.
        case expired
        /// The last period was refunded, or a family does not share the subscription any longer.
        case revoked
    }

    /// The state of a price increase. The raw values are those of the database.
    public enum PriceIncreaseStatus: String, Sendable, CaseIterable {
        /// The customer was asked and has not agreed. Without consent the subscription ends with its period.
        case asked
        /// The customer agreed. The next period costs more.
        case agreed
        /// The customer was told. Consent is not needed, and the next period costs more.
        case told
    }

    /// Why a subscription expired: Apple's `expirationIntent`.
    public typealias Intent = PendingRenewal.ExpirationIntent

    /// The further periods that cost what the last one did, because an offer has several.
    public struct RemainingOffer: Sendable, Equatable {
        /// The number of periods, at least 1.
        public var periods: Int
        /// The length of each.
        public var period: SubscriptionPeriod
    }

    /// The account that subscribes.
    public let accountID: AccountID
    /// The app's bundle identifier.
    public let bundleID: BundleID
    /// The subscription group.
    public let groupID: SubscriptionGroupID
    /// The identifier of the first transaction in the group. All later transactions have it, for ever.
    public let originalTransactionID: TransactionID
    /// The purchase date of the first transaction in the group.
    public let originalPurchaseDate: Int64
    /// The state since the last event.
    public internal(set) var state: State
    /// The product of the last period.
    public internal(set) var productID: ProductID
    /// The transaction of the last period.
    public internal(set) var transactionID: TransactionID
    /// When the last period ends.
    public internal(set) var expiresDate: Int64
    /// The product that the next renewal buys.
    public internal(set) var renewalProductID: ProductID
    /// The offer that the customer accepted for a later renewal, with its terms; nil for none.
    var waitingOffer: WaitingOffer?
    /// The price of a period that the customer agreed to, without offers; nil in rows of older versions.
    public internal(set) var price: Money?
    /// A higher price that was announced and does not hold yet; nil for none.
    public internal(set) var priceIncrease: PriceIncreaseStatus?
    /// How long the last period was by the tester's renewal rate.
    public internal(set) var rate: RenewalRate
    /// When the customer began to subscribe without a longer gap (``RenewalPolicy/longestGap``): Apple's
    /// `recentSubscriptionStartDate`. Nil when it is ``originalPurchaseDate``, or is not known because an older version
    /// recorded the gap.
    public internal(set) var recentStartDate: Int64?
    /// Whether the subscription renews by itself: Apple's `autoRenewStatus`.
    public internal(set) var willRenew: Bool
    /// The `web_order_line_item_id` of the next period. The store allocates it when the current period begins.
    public internal(set) var nextLineItemID: Int64
    /// The renewals since the customer subscribed or resubscribed.
    public internal(set) var renewals: Int
    /// The further periods of a pay-as-you-go offer; nil for none.
    public internal(set) var remainingOffer: RemainingOffer?
    /// When the grace period ends, after a renewal that was not paid; nil without one. It stays when the subscription
    /// expires.
    public internal(set) var graceEnds: Int64?
    /// Why the subscription expired. Nil before, and when the customer cancelled while a payment was overdue.
    public internal(set) var expirationIntent: Intent?
    /// When the store has to do something next; nil when it has nothing to do until the customer does.
    public internal(set) var dueAt: Int64?
    /// Counts the changes that were saved.
    var revision = 0
    /// The account that shares the subscription with its family; nil for the account's own.
    public internal(set) var purchaserID: AccountID?

    /// The offer that the next renewal gets, or, if it stacks, a renewal after the introductory offer; nil for none.
    public var nextOffer: NamedOffer? { waitingOffer?.name }

    /// Whether a renewal was not paid, and the store still tries to charge it.
    var isOverdue: Bool { state == .gracePeriod || state == .billingRetry }

    /// Whether the customer has access at a date: in a period or in a grace period, neither refunded.
    ///
    /// This is the answer to “is it active?”. Two narrower questions have other answers: ``isInPeriod(at:)``, and
    /// ``Transaction/isCurrent(at:)`` about one period.
    public func isActive(at date: Int64) -> Bool {
        switch state {
        case .active: date < expiresDate
        case .gracePeriod: graceEnds.map { date < $0 } ?? false
        case .billingRetry, .expired, .revoked: false
        }
    }

    /// Whether a paid period, or a free trial, lasts at a date. In a grace period the customer is active, but the
    /// renewal is overdue: Apple extends no period then, and increases no price.
    func isInPeriod(at date: Int64) -> Bool { state == .active && isActive(at: date) }
}

// MARK: - Purchases

extension Subscription {
    /// Begins with the first purchase in the group.
    init(
        _ first: Transaction, group: SubscriptionGroupID, expires: Int64, rate: RenewalRate = .real,
        nextLineItemID: Int64, remainingOffer: RemainingOffer?, policy: RenewalPolicy
    ) {
        self.init(
            accountID: first.accountID, bundleID: first.bundleID, groupID: group,
            originalTransactionID: first.originalTransactionID, originalPurchaseDate: first.originalPurchaseDate,
            state: .active, productID: first.productID, transactionID: first.transactionID, expiresDate: expires,
            renewalProductID: first.productID, rate: rate, willRenew: true, nextLineItemID: nextLineItemID,
            renewals: 0, remainingOffer: remainingOffer)
        dueAt = max(periodDueDate(policy), first.purchaseDate)
    }

    /// The customer bought a product of the group, which begins at once.
    ///
    /// During a period this is a change of plan. Buying the same product while its renewal is overdue pays the renewal.
    /// After the subscription was over, it starts again.
    /// - Parameters:
    ///   - period: the new transaction.
    ///   - date: when the customer bought. The period begins earlier when it pays a renewal in the grace period.
    mutating func bought(
        _ period: Transaction, at date: Int64, expires: Int64, rate: RenewalRate = .real, nextLineItemID: Int64,
        remainingOffer: RemainingOffer?, policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        let kind: (SubscriptionNews.Kind, SubscriptionNews.Subtype) =
            if isOverdue, period.productID == productID {
                (.renewed, .billingRecovery)
            } else if isActive(at: date) {
                period.namedOffer == nil ? (.renewalPreference, .upgrade) : (.offerRedeemed, .upgrade)
            } else {
                (.subscribed, .resubscribe)
            }
        if period.purchaseDate - expiresDate > policy.longestGap { recentStartDate = period.purchaseDate }
        begin(
            period, expires: expires, rate: rate, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer)
        renewals = kind.0 == .renewed ? renewals + 1 : kind.0 == .subscribed ? 0 : renewals
        willRenew = true
        dueAt = max(periodDueDate(policy), period.purchaseDate)
        return [news(kind.0, kind.1, date)]
    }

    private mutating func begin(
        _ period: Transaction, expires: Int64, rate: RenewalRate, nextLineItemID: Int64,
        remainingOffer: RemainingOffer?
    ) {
        state = .active
        productID = period.productID
        transactionID = period.transactionID
        expiresDate = expires
        renewalProductID = period.productID
        waitingOffer = nil
        priceIncrease = nil
        self.rate = rate
        self.nextLineItemID = nextLineItemID
        self.remainingOffer = remainingOffer
        graceEnds = nil
        expirationIntent = nil
    }
}

// MARK: - Scheduled work

extension Subscription {
    /// The store's task at ``dueAt``.
    enum Duty: Sendable, Equatable {
        /// Charge the next period.
        case renew
        /// End the subscription, because it does not renew.
        case expire
        /// End the grace period. The store goes on trying to charge.
        case endGracePeriod
        /// Give up charging.
        case giveUp
    }

    /// The task at ``dueAt``; nil for none.
    func duty(_ policy: RenewalPolicy) -> Duty? {
        guard let dueAt else { return nil }
        switch state {
        case .active: return willRenew && !hasRenewedOften(policy) ? .renew : .expire
        case .gracePeriod, .billingRetry:
            if dueAt >= policy.retryEnd(after: expiresDate, at: rate) { return .giveUp }
            return state == .gracePeriod && graceEnds.map { dueAt >= $0 } ?? true ? .endGracePeriod : .renew
        case .expired, .revoked: return nil
        }
    }

    /// When the store charges next, as long as nothing else changes; nil when the subscription ends before.
    func nextChargeDate(after date: Int64, _ policy: RenewalPolicy) -> Int64? {
        guard let dueAt, willRenew else { return nil }
        if duty(policy) == .renew { return dueAt }
        switch state {
        case .active, .expired, .revoked: return nil
        case .gracePeriod, .billingRetry:
            let end = policy.retryEnd(after: expiresDate, at: rate)
            // At the end of the grace period the store does not try.
            return policy.retries(after: expiresDate, at: rate).filter { $0 > date && $0 < end && $0 != graceEnds }
                .min()
        }
    }

    /// When the store has to do something about a period: charge the next one, or end the subscription.
    private func periodDueDate(_ policy: RenewalPolicy) -> Int64 {
        willRenew && !hasRenewedOften(policy) ? policy.chargeDate(before: expiresDate, at: rate) : expiresDate
    }

    /// Whether the environment turns auto-renew off now.
    private func hasRenewedOften(_ policy: RenewalPolicy) -> Bool {
        policy.mostRenewals(at: rate).map { renewals >= $0 } ?? false
    }

    /// When the next period begins, if it is paid at a date: where the last one ended, or at the payment when the
    /// customer had no access in between.
    func nextStart(paidAt date: Int64) -> Int64 { state == .billingRetry ? date / 1000 * 1000 : expiresDate }

    /// The next period was paid.
    mutating func renewed(
        by period: Transaction, at date: Int64, expires: Int64, rate: RenewalRate = .real, nextLineItemID: Int64,
        remainingOffer: RemainingOffer?, policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        let wasOverdue = state != .active
        if period.purchaseDate - expiresDate > policy.longestGap { recentStartDate = period.purchaseDate }
        begin(
            period, expires: expires, rate: rate, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer)
        renewals += 1
        // A period that was paid late can be over already.
        dueAt = max(periodDueDate(policy), date)
        return [news(.renewed, wasOverdue ? .billingRecovery : nil, date)]
    }

    /// The next period could not be charged. Before the period ends the store tells nobody.
    /// - Parameter grace: when this renewal's grace period ends; nil when it has none.
    mutating func chargeFailed(at date: Int64, grace: Int64?, policy: RenewalPolicy) -> [SubscriptionNews] {
        guard date >= expiresDate else {
            dueAt = expiresDate
            return []
        }
        guard state == .active else {
            dueAt = nextAttempt(after: date, policy)
            return []
        }
        graceEnds = grace
        state = graceEnds.map { $0 > date } ?? false ? .gracePeriod : .billingRetry
        dueAt = nextAttempt(after: date, policy)
        return [news(.failedToRenew, state == .gracePeriod ? .gracePeriod : nil, date)]
    }

    /// The grace period is over.
    mutating func gracePeriodEnded(at date: Int64, policy: RenewalPolicy) -> [SubscriptionNews] {
        state = .billingRetry
        dueAt = nextAttempt(after: date, policy)
        return [news(.gracePeriodExpired, nil, date)]
    }

    /// The date after `date` on which the store tries again, ends the grace period or gives up.
    private func nextAttempt(after date: Int64, _ policy: RenewalPolicy) -> Int64 {
        let end = policy.retryEnd(after: expiresDate, at: rate)
        let ends = [end, state == .gracePeriod ? graceEnds : nil].compactMap(\.self)
        return (policy.retries(after: expiresDate, at: rate) + ends).filter { $0 > date && $0 <= end }.min()
            ?? max(end, date)
    }

    /// The subscription ends at a date for a reason. In the sandbox, auto-renew is turned off first after many
    /// renewals.
    mutating func expire(_ intent: Intent, at date: Int64) -> [SubscriptionNews] {
        var all: [SubscriptionNews] = []
        if intent == .cancelled, willRenew { all.append(news(.renewalStatus, .autoRenewDisabled, date)) }
        let wasOverdue = isOverdue
        state = .expired
        willRenew = false
        expirationIntent = intent
        dueAt = nil
        let subtype: SubscriptionNews.Subtype? =
            switch intent {
            case .cancelled: .voluntary
            case .billingError: .billingRetry
            case .priceIncrease: .priceIncrease
            case .productUnavailable: .productNotForSale
            case .other: wasOverdue ? .billingRetry : nil
            }
        all.append(news(.expired, subtype, date))
        return all
    }
}

// MARK: - The customer and the operator

extension Subscription {
    /// Turns auto-renew off. A subscription whose payment is overdue ends at once (Apple's
    /// `EXPIRED`/`BILLING_RETRY`), and `pending_renewal_info` no longer lists it.
    mutating func turnAutoRenewOff(at date: Int64) -> [SubscriptionNews] {
        guard willRenew else { return [] }
        willRenew = false
        var all = [news(.renewalStatus, .autoRenewDisabled, date)]
        if state == .active {
            dueAt = expiresDate
        } else {
            state = .expired
            dueAt = nil
            all.append(news(.expired, .billingRetry, date))
        }
        return all
    }

    /// Turns auto-renew on again, while the last period lasts.
    /// - Returns: the news; nil when the subscription is over, and the customer must buy.
    mutating func turnAutoRenewOn(at date: Int64, policy: RenewalPolicy) -> [SubscriptionNews]? {
        guard isInPeriod(at: date) else { return nil }
        guard !willRenew else { return [] }
        willRenew = true
        // The sandbox counts anew.
        renewals = 0
        dueAt = max(periodDueDate(policy), min(date, expiresDate))
        return [news(.renewalStatus, .autoRenewEnabled, date)]
    }

    /// The sandbox, which would turn auto-renew off now, counts the renewals anew: another one is wanted.
    mutating func countAnew(at date: Int64, policy: RenewalPolicy) {
        guard hasRenewedOften(policy) else { return }
        renewals = 0
        dueAt = max(periodDueDate(policy), min(date, expiresDate))
    }

    /// The customer chose the product, and perhaps an offer, of the next renewal, while the subscription is active.
    /// Choosing the current product takes an earlier choice back. Auto-renew is on afterwards.
    /// - Parameter offer: an offer of the product; nil for none.
    mutating func choose(
        _ product: ProductID, offer: WaitingOffer?, at date: Int64, policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        var all: [SubscriptionNews] = []
        if !willRenew {
            all += turnAutoRenewOn(at: date, policy: policy) ?? []
        } else {
            countAnew(at: date, policy: policy)
        }
        let isOtherPlan = renewalProductID != product
        let isOtherOffer = nextOffer != offer?.name
        renewalProductID = product
        // An offer that the customer accepts again, after renewal was off, has the terms of the later day.
        waitingOffer = offer
        guard isOtherPlan || isOtherOffer else { return all }
        let subtype: SubscriptionNews.Subtype? = product == productID ? nil : .downgrade
        if offer != nil {
            all.append(news(.offerRedeemed, isOtherPlan ? subtype : nil, date))
        } else if isOtherPlan {
            all.append(news(.renewalPreference, subtype, date))
        }
        return all
    }

    /// The last period is the last one: it is paid by an offer that does not renew.
    mutating func endWithPeriod() {
        willRenew = false
        dueAt = max(dueAt ?? expiresDate, expiresDate)
    }

    /// A higher price was announced for the periods after the next renewal.
    /// - Parameter needsConsent: whether the customer has to agree.
    mutating func announceIncrease(needsConsent: Bool, at date: Int64) -> [SubscriptionNews] {
        priceIncrease = needsConsent ? .asked : .told
        return [news(.priceIncrease, needsConsent ? .pending : .accepted, date)]
    }

    /// The customer answered the price increase. After a refusal the subscription ends with its period.
    mutating func answerIncrease(agrees: Bool, at date: Int64) -> [SubscriptionNews] {
        guard priceIncrease == .asked, agrees else { return [] }
        priceIncrease = .agreed
        return [news(.priceIncrease, .accepted, date)]
    }

    /// The price increase was withdrawn.
    mutating func withdrawIncrease() { priceIncrease = nil }

    /// The operator moved the end of the last period.
    /// - Parameter isExtension: whether the merchant is told that the period was extended.
    mutating func moveEnd(
        to end: Int64, at date: Int64, isExtension: Bool, policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        expiresDate = end
        dueAt = max(periodDueDate(policy), date)
        return isExtension ? [news(.extended, nil, date)] : []
    }

    /// An extension of all subscriptions of the product did not extend this one. Nothing else changes.
    func extensionFailed(at date: Int64) -> SubscriptionNews { news(.massExtension, .failure, date) }

    /// The refund of a period was reversed: what it gave until its end holds again. Auto-renew stays off.
    mutating func refundReversed(_ transactionID: TransactionID, at date: Int64) -> [SubscriptionNews] {
        var all = [SubscriptionNews(type: .refundReversed, date: date, transactionID: transactionID)]
        guard transactionID == self.transactionID, state == .revoked else { return all }
        state = .active
        dueAt = max(expiresDate, date)
        if expiresDate <= date { all += expire(.cancelled, at: date) }
        return all
    }

    /// The store refused a refund. Nothing else changes.
    func refundDeclined(_ transactionID: TransactionID, at date: Int64) -> [SubscriptionNews] {
        [SubscriptionNews(type: .refundDeclined, date: date, transactionID: transactionID)]
    }

    /// A period was refunded. The refund of an earlier one changes nothing else.
    mutating func refunded(_ transactionID: TransactionID, at date: Int64) -> [SubscriptionNews] {
        var all = [SubscriptionNews(type: .refund, date: date, transactionID: transactionID)]
        guard transactionID == self.transactionID, state != .revoked else { return all }
        if willRenew { all.append(news(.renewalStatus, .autoRenewDisabled, date)) }
        state = .revoked
        willRenew = false
        graceEnds = nil
        expirationIntent = nil
        dueAt = nil
        return all
    }

    /// The subscription as a member of the family has it, who follows the purchaser in everything.
    /// - Parameter last: the member's last period.
    func shared(by share: FamilyShare, _ last: Transaction) -> Subscription {
        var shared = Subscription(
            accountID: share.accountID, bundleID: bundleID, groupID: groupID,
            originalTransactionID: share.originalTransactionID, originalPurchaseDate: share.originalPurchaseDate,
            state: state, productID: productID, transactionID: share.transactionID, expiresDate: expiresDate,
            renewalProductID: renewalProductID, rate: rate,
            recentStartDate: max(recentStartDate ?? originalPurchaseDate, share.originalPurchaseDate),
            willRenew: willRenew,
            nextLineItemID: nextLineItemID, renewals: renewals, graceEnds: graceEnds,
            expirationIntent: expirationIntent, dueAt: dueAt)
        shared.purchaserID = accountID
        guard share.endedAt != nil else { return shared }
        // The purchaser's subscription may have gone on without the member.
        shared.state = last.revokedAt == nil ? .expired : .revoked
        shared.productID = last.productID
        shared.renewalProductID = last.productID
        shared.expiresDate = last.expiresDate ?? expiresDate
        shared.willRenew = false
        shared.graceEnds = nil
        shared.expirationIntent = last.revokedAt == nil ? expirationIntent ?? .cancelled : nil
        shared.dueAt = nil
        return shared
    }

    private func news(
        _ type: SubscriptionNews.Kind, _ subtype: SubscriptionNews.Subtype?, _ date: Int64
    ) -> SubscriptionNews {
        SubscriptionNews(type: type, subtype: subtype, date: date, transactionID: transactionID)
    }
}

extension PendingRenewal {
    /// The element of a subscription; nil when Apple's answer has none, after a cancellation with an overdue payment.
    init?(_ subscription: Subscription) {
        let isOverdue = subscription.isOverdue
        guard subscription.state != .expired || subscription.expirationIntent != nil else { return nil }
        // Without a renewal, no offer comes.
        let nextOffer = subscription.willRenew ? subscription.nextOffer : nil
        self.init(
            autoRenewProductID: subscription.renewalProductID.rawValue, productID: subscription.productID.rawValue,
            originalTransactionID: subscription.originalTransactionID.description,
            autoRenewStatus: subscription.willRenew,
            expirationIntent: isOverdue ? .billingError : subscription.expirationIntent,
            isInBillingRetryPeriod: isOverdue ? true : subscription.state == .expired ? false : nil,
            gracePeriodExpiresDate: subscription.graceEnds.map { ReceiptDate(milliseconds: $0) },
            priceConsentStatus: subscription.priceIncrease.flatMap { $0 == .told ? nil : $0 == .agreed },
            priceIncreaseStatus: subscription.priceIncrease.map { $0 != .asked },
            offerCodeRefName: nextOffer.flatMap { $0.kind == .code ? $0.id : nil },
            promotionalOfferID: nextOffer.flatMap { $0.kind == .promotional ? $0.id : nil })
    }
}
