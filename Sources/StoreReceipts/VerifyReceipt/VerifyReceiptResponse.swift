import StoreWire

/// An answer of `verifyReceipt`, always sent with HTTP 200. ``json`` is its body.
public enum VerifyReceiptResponse: Sendable, Equatable {
    /// The answer to a valid app receipt.
    case appReceipt(AppReceiptResponse)
    /// The answer to a valid app receipt that was encoded before, with the date of this request.
    case encodedAppReceipt(EncodedAppReceiptResponse, requestDate: ReceiptDate)
    /// The answer to a valid transaction receipt of iOS 6.
    case transactionReceipt(TransactionReceiptResponse)
    /// The answer to any other request.
    case failure(VerifyReceiptFailure)

    /// The answer's `status`.
    public var status: VerifyReceiptStatus {
        switch self {
        case .appReceipt, .encodedAppReceipt: .ok
        case .transactionReceipt(let response): response.status
        case .failure(let failure): failure.status
        }
    }
}

/// The answer to a valid app receipt, `status` 0 (Apple's "responseBody").
public struct AppReceiptResponse: Sendable, Equatable {
    /// The store that made the receipt: `environment`.
    public var environment: StoreEnvironment
    /// The contents of the receipt: `receipt`.
    public var receipt: ReceiptInformation
    /// The members about subscriptions; nil unless the receipt contains auto-renewable subscriptions.
    public var latest: Latest?

    /// The members about subscriptions.
    public struct Latest: Sendable, Equatable {
        /// The newest transactions: `latest_receipt_info`, from the store's ledger and not from the receipt that was
        /// sent.
        public var purchases: [PurchaseInformation]
        /// The newest app receipt: `latest_receipt` before Base64, made from the current ledger.
        public var receipt: [UInt8]
        /// The renewal state of each subscription: `pending_renewal_info`.
        public var pendingRenewals: [PendingRenewal]

        /// Creates the members about subscriptions.
        public init(purchases: [PurchaseInformation], receipt: [UInt8], pendingRenewals: [PendingRenewal]) {
            self.purchases = purchases
            self.receipt = receipt
            self.pendingRenewals = pendingRenewals
        }
    }

    /// Creates an answer.
    public init(environment: StoreEnvironment, receipt: ReceiptInformation, latest: Latest?) {
        self.environment = environment
        self.receipt = receipt
        self.latest = latest
    }
}

/// The JSON of an answer to a valid app receipt, except for `request_date`.
public struct EncodedAppReceiptResponse: Sendable, Equatable {
    /// The bytes before the members of `request_date`.
    let beginning: [UInt8]
    /// The bytes after them.
    let end: [UInt8]

    /// The length of ``beginning`` and ``end``, in bytes.
    public var count: Int { beginning.count + end.count }
}

/// The answer to a valid transaction receipt. Without `subscription` it has only `receipt` and `status`.
public struct TransactionReceiptResponse: Sendable, Equatable {
    /// The contents of the receipt: `receipt`, a flat object of strings.
    public var receipt: TransactionReceipt
    /// The members about the subscription; nil unless the product is an auto-renewable subscription.
    public var subscription: Subscription?

    /// The members about the subscription.
    public struct Subscription: Sendable, Equatable {
        /// The newest transaction: `latest_receipt_info`, or `latest_expired_receipt_info` if it has expired; an
        /// object, not an array.
        public var latest: TransactionReceipt
        /// Whether the subscription has expired, which makes `status` 21006.
        public var isExpired: Bool
        /// The newest transaction receipt: `latest_receipt` before Base64, the whole property list. It is left out
        /// after expiry or refund.
        public var latestReceipt: [UInt8]?
        /// Whether the subscription will renew: `auto_renew_status`, the number 1 or 0.
        public var autoRenewStatus: Bool?
        /// The product of the next period: `auto_renew_product_id`.
        public var autoRenewProductID: String?
        /// The reason why the subscription ended: `expiration_intent`, a string; only after it has expired.
        public var expirationIntent: PendingRenewal.ExpirationIntent?
        /// Whether the store still tries to charge for an expired subscription: `is_in_billing_retry_period`, the
        /// string "1" or "0".
        public var isInBillingRetryPeriod: Bool?

        /// Creates the members about a subscription.
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

    /// Creates an answer.
    public init(receipt: TransactionReceipt, subscription: Subscription?) {
        self.receipt = receipt
        self.subscription = subscription
    }

    /// The answer's `status`: 0, or 21006 if the subscription has expired.
    public var status: VerifyReceiptStatus {
        VerifyReceiptStatus(subscription?.isExpired == true ? .expiredSubscription : .ok)
    }
}

/// The answer to a request that failed: the status, with the other members that Apple's answers with this status have.
///
/// 21000, 21002, 21007 and 21008 have no other member (`{"status":21007}`, to the byte, because some clients compare it
/// as text); 21003 and 21004 have `environment`; 21005, 21009, 21010 and 21100 to 21199 have `environment` and
/// `is_retryable`.
public struct VerifyReceiptFailure: Sendable, Equatable {
    /// The reason for the failure: `status`.
    public var status: VerifyReceiptStatus
    /// The store that answers: `environment`.
    public var environment: StoreEnvironment

    /// Creates the answer of the given store to an outcome.
    public init(_ outcome: VerificationOutcome, from environment: StoreEnvironment) {
        status = VerifyReceiptStatus(outcome)
        self.environment = environment
    }

    /// Whether the same request may succeed later: `is_retryable`, a boolean. Nil if answers with this status do not
    /// have it.
    public var isRetryable: Bool? {
        status.isRetryable || status == .accountNotFound ? status.isRetryable : nil
    }
}
