/// An element of `pending_renewal_info` (Apple's "responseBody.Pending_renewal_info"). On the wire every value is a
/// string.
public struct PendingRenewal: Sendable, Equatable {
    /// `expiration_intent`, why a subscription ended.
    public enum ExpirationIntent: Int64, Sendable, CaseIterable {
        /// The customer cancelled.
        case cancelled = 1
        /// The payment failed.
        case billingError = 2
        /// The customer did not agree to a higher price.
        case priceIncrease = 3
        /// The product could not be bought any longer.
        case productUnavailable = 4
        case other = 5
    }

    /// `expiration_intent`; only once expired.
    public var expirationIntent: ExpirationIntent?
    /// `auto_renew_product_id`: what the next period will be of.
    public var autoRenewProductID: String
    /// `is_in_billing_retry_period`, "1" or "0".
    public var isInBillingRetryPeriod: Bool?
    /// `product_id`: what the current period is of.
    public var productID: String
    /// `original_transaction_id`
    public var originalTransactionID: String
    /// `auto_renew_status`, "1" or "0".
    public var autoRenewStatus: Bool
    /// `grace_period_expires_date` in three forms.
    public var gracePeriodExpiresDate: ReceiptDate?
    /// `price_consent_status`, "1" or "0".
    public var priceConsentStatus: Bool?
    /// `price_increase_status`, "1" or "0".
    public var priceIncreaseStatus: Bool?
    /// `offer_code_ref_name`
    public var offerCodeRefName: String?
    /// `promotional_offer_id`
    public var promotionalOfferID: String?

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
