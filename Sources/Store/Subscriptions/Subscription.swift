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
        /// The last period was refunded.
        case revoked
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
    /// Whether the subscription renews by itself: Apple's `autoRenewStatus`.
    public internal(set) var willRenew: Bool
    /// The `web_order_line_item_id` of the next period. The store allocates it when the current period begins.
    public internal(set) var nextLineItemID: Int64
    /// The renewals since the customer subscribed or resubscribed.
    public internal(set) var renewals: Int
    /// What is left of a pay-as-you-go offer; nil for nothing.
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

    /// Whether the customer has access at a date: in a period or in a grace period, neither refunded.
    public func isActive(at date: Int64) -> Bool {
        switch state {
        case .active: date < expiresDate
        case .gracePeriod: graceEnds.map { date < $0 } ?? false
        case .billingRetry, .expired, .revoked: false
        }
    }
}

// MARK: - Purchases

extension Subscription {
    /// Begins with the first purchase in the group.
    init(
        _ first: Transaction, group: SubscriptionGroupID, expires: Int64, nextLineItemID: Int64,
        remainingOffer: RemainingOffer?,
        policy: RenewalPolicy
    ) {
        self.init(
            accountID: first.accountID, bundleID: first.bundleID, groupID: group,
            originalTransactionID: first.originalTransactionID, originalPurchaseDate: first.originalPurchaseDate,
            state: .active, productID: first.productID, transactionID: first.transactionID, expiresDate: expires,
            renewalProductID: first.productID, willRenew: true, nextLineItemID: nextLineItemID, renewals: 0,
            remainingOffer: remainingOffer, dueAt: max(expires - policy.lead, first.purchaseDate))
    }

    /// The customer bought a product of the group: a change of plan during a period, which begins at once, or a new
    /// start after the subscription was over.
    /// - Parameter period: the new transaction.
    mutating func bought(
        _ period: Transaction, expires: Int64, nextLineItemID: Int64, remainingOffer: RemainingOffer?,
        policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        let isChange = isActive(at: period.purchaseDate)
        begin(period, expires: expires, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer)
        if !isChange { renewals = 0 }
        willRenew = true
        dueAt = max(expires - policy.lead, period.purchaseDate)
        return [
            news(isChange ? .renewalPreference : .subscribed, isChange ? .upgrade : .resubscribe, period.purchaseDate)
        ]
    }

    private mutating func begin(
        _ period: Transaction, expires: Int64, nextLineItemID: Int64, remainingOffer: RemainingOffer?
    ) {
        state = .active
        productID = period.productID
        transactionID = period.transactionID
        expiresDate = expires
        renewalProductID = period.productID
        self.nextLineItemID = nextLineItemID
        self.remainingOffer = remainingOffer
        graceEnds = nil
        expirationIntent = nil
    }
}

// MARK: - Scheduled work

extension Subscription {
    /// What the store has to do at ``dueAt``.
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

    /// What is due at ``dueAt``; nil for nothing.
    func duty(_ policy: RenewalPolicy) -> Duty? {
        guard let dueAt else { return nil }
        switch state {
        case .active: return willRenew && !hasRenewedOften(policy) ? .renew : .expire
        case .gracePeriod, .billingRetry:
            if dueAt >= policy.retryEnd(after: expiresDate) { return .giveUp }
            return state == .gracePeriod && graceEnds.map { dueAt >= $0 } ?? true ? .endGracePeriod : .renew
        case .expired, .revoked: return nil
        }
    }

    /// Whether the environment turns auto-renew off now.
    private func hasRenewedOften(_ policy: RenewalPolicy) -> Bool {
        policy.mostRenewals.map { renewals >= $0 } ?? false
    }

    /// When the next period begins, if it is paid at a date: where the last one ended, or at the payment when the
    /// customer had no access in between.
    func nextStart(paidAt date: Int64) -> Int64 { state == .billingRetry ? date / 1000 * 1000 : expiresDate }

    /// The next period was paid.
    mutating func renewed(
        by period: Transaction, at date: Int64, expires: Int64, nextLineItemID: Int64, remainingOffer: RemainingOffer?,
        policy: RenewalPolicy
    ) -> [SubscriptionNews] {
        let wasOverdue = state != .active
        begin(period, expires: expires, nextLineItemID: nextLineItemID, remainingOffer: remainingOffer)
        renewals += 1
        // A period that was paid late can be over already.
        dueAt = max(hasRenewedOften(policy) ? expires : expires - policy.lead, date)
        return [news(.renewed, wasOverdue ? .billingRecovery : nil, date)]
    }

    /// The next period could not be charged. Before the period ends the store tells nobody.
    /// - Parameter hasGrace: whether this renewal has a grace period.
    mutating func chargeFailed(at date: Int64, hasGrace: Bool, policy: RenewalPolicy) -> [SubscriptionNews] {
        guard date >= expiresDate else {
            dueAt = expiresDate
            return []
        }
        guard state == .active else {
            dueAt = nextAttempt(after: date, policy)
            return []
        }
        graceEnds = hasGrace ? policy.graceEnd(after: expiresDate) : nil
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
        let end = policy.retryEnd(after: expiresDate)
        let ends = [end, state == .gracePeriod ? graceEnds : nil].compactMap(\.self)
        return (policy.retries(after: expiresDate) + ends).filter { $0 > date && $0 <= end }.min() ?? max(end, date)
    }

    /// The subscription ends at a date for a reason. In the sandbox, auto-renew is turned off first after many
    /// renewals.
    mutating func expire(_ intent: Intent, at date: Int64) -> [SubscriptionNews] {
        var all: [SubscriptionNews] = []
        if intent == .cancelled, willRenew { all.append(news(.renewalStatus, .autoRenewDisabled, date)) }
        let wasOverdue = state == .gracePeriod || state == .billingRetry
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
        guard state == .active, date < expiresDate else { return nil }
        guard !willRenew else { return [] }
        willRenew = true
        // The sandbox counts anew.
        renewals = 0
        dueAt = max(expiresDate - policy.lead, min(date, expiresDate))
        return [news(.renewalStatus, .autoRenewEnabled, date)]
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

    private func news(
        _ type: SubscriptionNews.Kind, _ subtype: SubscriptionNews.Subtype?, _ date: Int64
    ) -> SubscriptionNews {
        SubscriptionNews(type: type, subtype: subtype, date: date, transactionID: transactionID)
    }
}

extension PendingRenewal {
    /// The element of a subscription; nil when Apple's answer has none, after a cancellation with an overdue payment.
    init?(_ subscription: Subscription) {
        let isOverdue = subscription.state == .gracePeriod || subscription.state == .billingRetry
        guard subscription.state != .expired || subscription.expirationIntent != nil else { return nil }
        self.init(
            autoRenewProductID: subscription.renewalProductID.rawValue, productID: subscription.productID.rawValue,
            originalTransactionID: subscription.originalTransactionID.description,
            autoRenewStatus: subscription.willRenew,
            expirationIntent: isOverdue ? .billingError : subscription.expirationIntent,
            isInBillingRetryPeriod: isOverdue ? true : subscription.state == .expired ? false : nil,
            gracePeriodExpiresDate: subscription.graceEnds.map { ReceiptDate(milliseconds: $0) })
    }
}
