import StoreWire

/// The answer of `verifyReceipt`, always sent with HTTP 200. ``json`` is its body.
public enum VerifyReceiptResponse: Sendable, Equatable {
    /// To a valid app receipt.
    case appReceipt(AppReceiptResponse)
    /// To a valid transaction receipt in the manner of iOS 6.
    case transactionReceipt(TransactionReceiptResponse)
    /// To everything else.
    case failure(VerifyReceiptFailure)

    /// The answer's `status`.
    public var status: VerifyReceiptStatus {
        switch self {
        case .appReceipt: .ok
        case .transactionReceipt(let response): response.status
        case .failure(let failure): failure.status
        }
    }
}

/// The answer to a valid app receipt, `status` 0 (Apple's "responseBody").
public struct AppReceiptResponse: Sendable, Equatable {
    /// `environment`
    public var environment: StoreEnvironment
    /// `receipt`
    public var receipt: ReceiptInformation
    /// Only when the receipt holds auto-renewable subscriptions.
    public var latest: Latest?

    /// The members about subscriptions.
    public struct Latest: Sendable, Equatable {
        /// `latest_receipt_info`: from the store's ledger, not from the receipt that was sent.
        public var purchases: [PurchaseInformation]
        /// `latest_receipt` before Base64: an app receipt of the ledger as it is now.
        public var receipt: [UInt8]
        /// `pending_renewal_info`
        public var pendingRenewals: [PendingRenewal]

        public init(purchases: [PurchaseInformation], receipt: [UInt8], pendingRenewals: [PendingRenewal]) {
            self.purchases = purchases
            self.receipt = receipt
            self.pendingRenewals = pendingRenewals
        }
    }

    public init(environment: StoreEnvironment, receipt: ReceiptInformation, latest: Latest?) {
        self.environment = environment
        self.receipt = receipt
        self.latest = latest
    }
}

/// The answer to a valid transaction receipt. Without `subscription` it has only `receipt` and `status`.
public struct TransactionReceiptResponse: Sendable, Equatable {
    /// `receipt`: a flat object of strings.
    public var receipt: TransactionReceipt
    /// Only of auto-renewable subscriptions.
    public var subscription: Subscription?

    /// The members about the subscription.
    public struct Subscription: Sendable, Equatable {
        /// `latest_receipt_info`, or `latest_expired_receipt_info` if it has expired: an object, not an array.
        public var latest: TransactionReceipt
        /// Whether it has expired, which makes `status` 21006.
        public var isExpired: Bool
        /// `latest_receipt` before Base64: the newest transaction receipt, the whole property list. Left out once
        /// expired or refunded.
        public var latestReceipt: [UInt8]?
        /// `auto_renew_status`, a number: 1 or 0.
        public var autoRenewStatus: Bool?
        /// `auto_renew_product_id`
        public var autoRenewProductID: String?
        /// `expiration_intent`, a string; only once expired.
        public var expirationIntent: PendingRenewal.ExpirationIntent?
        /// `is_in_billing_retry_period`, a string: "1" or "0".
        public var isInBillingRetryPeriod: Bool?

        public init(
            latest: TransactionReceipt, isExpired: Bool, latestReceipt: [UInt8]?, autoRenewStatus: Bool?,
            autoRenewProductID: String?,
            expirationIntent: PendingRenewal.ExpirationIntent? = nil, isInBillingRetryPeriod: Bool? = nil
        ) {
            self.latest = latest
            self.isExpired = isExpired
            self.latestReceipt = latestReceipt
            self.autoRenewStatus = autoRenewStatus
            self.autoRenewProductID = autoRenewProductID
            self.expirationIntent = expirationIntent
            self.isInBillingRetryPeriod = isInBillingRetryPeriod
        }
    }

    public init(receipt: TransactionReceipt, subscription: Subscription?) {
        self.receipt = receipt
        self.subscription = subscription
    }

    /// 0, or 21006 once the subscription has expired.
    public var status: VerifyReceiptStatus {
        VerifyReceiptStatus(subscription?.isExpired == true ? .expiredSubscription : .ok)
    }
}

/// The answer to a request that was not met: the status, and beside it what Apple's answers with that status have been
/// seen to hold.
///
/// 21000, 21002, 21007 and 21008 stand alone (`{"status":21007}`, to the byte: there are clients that compare it as
/// text); 21003 and 21004 come with `environment`; 21005, 21009, 21010 and 21100 to 21199 with `environment` and
/// `is_retryable`.
public struct VerifyReceiptFailure: Sendable, Equatable {
    /// `status`
    public var status: VerifyReceiptStatus
    /// `environment`: the store that answers.
    public var environment: StoreEnvironment

    /// The answer to an outcome, from the store given.
    public init(_ outcome: VerificationOutcome, from environment: StoreEnvironment) {
        status = VerifyReceiptStatus(outcome)
        self.environment = environment
    }

    /// `is_retryable`, a boolean, or nil if this status is sent without.
    public var isRetryable: Bool? {
        status.isRetryable || status == .accountNotFound ? status.isRetryable : nil
    }
}
