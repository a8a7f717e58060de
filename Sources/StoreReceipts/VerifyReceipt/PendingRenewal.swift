/// An element of `pending_renewal_info` (Apple's "responseBody.Pending_renewal_info"). On the wire every value is a
/// string.
public struct PendingRenewal: Sendable, Equatable {
    /// The reason why a subscription ended: `expiration_intent`.
    public enum ExpirationIntent: Int64, Sendable, CaseIterable {
        /// The customer cancelled.
        case cancelled = 1
        /// The payment failed.
        case billingError = 2
        /// The customer did not agree to a higher price.
        case priceIncrease = 3
        /// The product could not be bought any longer.
        case productUnavailable = 4
        /// Another reason.
        case other = 5
    }

    /// The reason why the subscription ended: `expiration_intent`; only after it has expired.
    public var expirationIntent: ExpirationIntent?
    /// The product of the next period: `auto_renew_product_id`.
    public var autoRenewProductID: String
    /// Whether the store still tries to charge for an expired subscription: `is_in_billing_retry_period`, "1" or "0".
    public var isInBillingRetryPeriod: Bool?
    /// The product of the current period: `product_id`.
    public var productID: String
    /// The first transaction's identifier: `original_transaction_id`.
    public var originalTransactionID: String
    /// Whether the subscription will renew: `auto_renew_status`, "1" or "0".
    public var autoRenewStatus: Bool
    /// The end of the grace period: `grace_period_expires_date` in three forms.
    public var gracePeriodExpiresDate: ReceiptDate?
    /// Whether the customer has agreed to the price increase: `price_consent_status`, "1" or "0".
    public var priceConsentStatus: Bool?
    /// The state of a price increase: `price_increase_status`, "1" or "0".
    public var priceIncreaseStatus: Bool?
    /// The name of the redeemed offer code: `offer_code_ref_name`.
    public var offerCodeRefName: String?
    /// The promotional offer's identifier: `promotional_offer_id`.
    public var promotionalOfferID: String?

    /// Creates an element.
    public init(
        autoRenewProductID: String, productID: String, originalTransactionID: String, autoRenewStatus: Bool,
        expirationIntent: ExpirationIntent? = nil, isInBillingRetryPeriod: Bool? = nil,
        gracePeriodExpiresDate: ReceiptDate? = nil,
        priceConsentStatus: Bool? = nil, priceIncreaseStatus: Bool? = nil, offerCodeRefName: String? = nil,
        promotionalOfferID: String? = nil
    ) {
        self.expirationIntent = expirationIntent
        self.autoRenewProductID = autoRenewProductID
        self.isInBillingRetryPeriod = isInBillingRetryPeriod
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.autoRenewStatus = autoRenewStatus
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.priceConsentStatus = priceConsentStatus
        self.priceIncreaseStatus = priceIncreaseStatus
        self.offerCodeRefName = offerCodeRefName
        self.promotionalOfferID = promotionalOfferID
    }
}
