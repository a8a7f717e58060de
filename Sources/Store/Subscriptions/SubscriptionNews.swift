import StoreWire

/// Something that happened to a subscription, in the words of App Store Server Notifications V2.
public struct SubscriptionNews: Sendable, Equatable {
    /// Apple's `notificationType`.
    public enum Kind: String, Sendable, CaseIterable {
        /// The customer subscribed or resubscribed.
        case subscribed = "SUBSCRIBED"
        /// The customer changed the plan.
        case renewalPreference = "DID_CHANGE_RENEWAL_PREF"
        /// Auto-renew was turned off or on.
        case renewalStatus = "DID_CHANGE_RENEWAL_STATUS"
        /// The next period was paid.
        case renewed = "DID_RENEW"
        /// The next period could not be charged.
        case failedToRenew = "DID_FAIL_TO_RENEW"
        /// The grace period ended without a payment.
        case gracePeriodExpired = "GRACE_PERIOD_EXPIRED"
        /// The subscription ended.
        case expired = "EXPIRED"
        /// A subscriber redeemed an offer.
        case offerRedeemed = "OFFER_REDEEMED"
        /// The end of a period was moved to a later date.
        case extended = "RENEWAL_EXTENDED"
        /// An extension of all subscriptions of a product did not extend this one, or is complete.
        case massExtension = "RENEWAL_EXTENSION"
        /// A period was refunded.
        case refund = "REFUND"
        /// The customer asked for a refund, and the store asks how the subscription was used.
        case consumptionRequest = "CONSUMPTION_REQUEST"
        /// A refund was refused.
        case refundDeclined = "REFUND_DECLINED"
        /// A refund was taken back.
        case refundReversed = "REFUND_REVERSED"
        /// A price increase needs the customer's consent, or the customer was told of one.
        case priceIncrease = "PRICE_INCREASE"
        /// A member of a family does not share the subscription any longer.
        case revoked = "REVOKE"
    }

    /// Apple's `subtype`.
    public enum Subtype: String, Sendable, CaseIterable {
        /// The first purchase in the group.
        case initialBuy = "INITIAL_BUY"
        /// A purchase after the subscription was over.
        case resubscribe = "RESUBSCRIBE"
        /// A change of plan that begins at once.
        case upgrade = "UPGRADE"
        /// A change of plan that begins with the next renewal.
        case downgrade = "DOWNGRADE"
        /// The customer has not answered the price increase.
        case pending = "PENDING"
        /// The customer agreed to the price increase, or it needs no consent.
        case accepted = "ACCEPTED"
        /// Auto-renew was turned on.
        case autoRenewEnabled = "AUTO_RENEW_ENABLED"
        /// Auto-renew was turned off.
        case autoRenewDisabled = "AUTO_RENEW_DISABLED"
        /// An overdue renewal was paid.
        case billingRecovery = "BILLING_RECOVERY"
        /// The customer keeps the access in a grace period.
        case gracePeriod = "GRACE_PERIOD"
        /// The end of the period was not moved.
        case failure = "FAILURE"
        /// An extension of all subscriptions of a product is complete.
        case summary = "SUMMARY"
        /// The customer had turned auto-renew off.
        case voluntary = "VOLUNTARY"
        /// The payment was not recovered.
        case billingRetry = "BILLING_RETRY"
        /// The customer did not agree to a higher price.
        case priceIncrease = "PRICE_INCREASE"
        /// The product could not be bought any longer.
        case productNotForSale = "PRODUCT_NOT_FOR_SALE"
    }

    /// The kind of event.
    public var type: Kind
    /// Details of the event; nil for none.
    public var subtype: Subtype?
    /// When it happened, in milliseconds since 1970 by the store's clock.
    public var date: Int64
    /// The transaction that it concerns: the last period's, or the refunded one.
    public var transactionID: TransactionID
    /// Why the customer asked for a refund; nil for other news.
    public var consumptionReason: RefundReason?

    /// Creates a piece of news.
    public init(
        type: Kind, subtype: Subtype? = nil, date: Int64, transactionID: TransactionID,
        consumptionReason: RefundReason? = nil
    ) {
        self.type = type
        self.subtype = subtype
        self.date = date
        self.transactionID = transactionID
        self.consumptionReason = consumptionReason
    }
}

/// News in the feed of all subscriptions of a store.
public struct SubscriptionFeedItem: Sendable, Equatable {
    /// Grows from one item to the next.
    public let number: Int64
    /// The first transaction of the subscription; 0 for the summary of an extension of all subscriptions.
    public let originalTransactionID: TransactionID
    /// The event.
    public let news: SubscriptionNews
    /// The state when it happened, as JSON: `status`, `transaction` and `renewalInfo`, with the members of Apple's
    /// `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload` but `signedDate` and `appTransactionId`; and
    /// `consumptionRequestReason` if there is one. A summary has only `summary`, with the members of Apple's. Nil for
    /// news of older versions.
    public let snapshot: String?
}
