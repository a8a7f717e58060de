/// The reason for a refused request. The store sends it as the JSON body of every answer whose status is not 2xx.
public struct WireError: Error, Codable, Sendable, Equatable {
    /// A stable code for the reason. The set is open: a newer store may send other codes.
    public struct Code: StringIdentifier {
        /// The code's text.
        public let rawValue: String
        /// Creates a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request is malformed: invalid JSON, a missing key, or a value out of range. 400.
        public static let invalidRequest: Code = "invalid_request"
        /// There is nothing at the address. 404.
        public static let notFound: Code = "not_found"
        /// The request's body took too long to arrive. 408.
        public static let timeout: Code = "timeout"
        /// The body is over the limit. 413.
        public static let tooLarge: Code = "too_large"
        /// The token is missing or unknown. 401; sign in again.
        public static let notSignedIn: Code = "not_signed_in"
        /// The e-mail address and password do not match. 401.
        public static let wrongPassword: Code = "wrong_password"
        /// The account is locked, after too many wrong passwords or by the operator. 403.
        public static let accountLocked: Code = "account_locked"
        /// No app has this bundle identifier. 404.
        public static let unknownApp: Code = "unknown_app"
        /// The product is unknown, not on sale, or not available in the storefront. 404, or a failed purchase.
        public static let productNotAvailable: Code = "product_not_available"
        /// The account has no such transaction. 404.
        public static let unknownTransaction: Code = "unknown_transaction"
        /// The storefront has no item with this number, or no item of this app. 404.
        public static let unknownItem: Code = "unknown_item"
        /// There is no such review. 404.
        public static let unknownReview: Code = "unknown_review"
        /// The account does not own the item, and only owners can review it. 403.
        public static let notOwned: Code = "not_owned"
        /// The rating is not 1 to 5 stars. 400.
        public static let invalidStars: Code = "invalid_stars"
        /// A title, text, answer or reason of a review is over its limit. 400.
        public static let reviewTooLong: Code = "review_too_long"
        /// The quantity is out of range or not allowed. A failed purchase.
        public static let invalidQuantity: Code = "invalid_quantity"
        /// The price differs from the one that the customer agreed to. 409, or a failed purchase.
        public static let priceChanged: Code = "price_changed"
        /// The payment processor declined the payment. A failed purchase.
        public static let paymentDeclined: Code = "payment_declined"
        /// The account is already subscribed to the product. A failed purchase.
        public static let alreadySubscribed: Code = "already_subscribed"
        /// The account may not buy. 403, or a failed purchase.
        public static let paymentNotAllowed: Code = "payment_not_allowed"
        /// The product has no promotional offer with this identifier. A failed purchase.
        public static let invalidOfferIdentifier: Code = "invalid_offer_identifier"
        /// The offer's signature is invalid: the key is unknown, the signed values differ, the signature is too old, or
        /// it was used before. A failed purchase.
        public static let invalidOfferSignature: Code = "invalid_offer_signature"
        /// The offer's identifier, key, signature or JWS is missing. A failed purchase.
        public static let missingOfferParameters: Code = "missing_offer_parameters"
        /// The offer costs more than the product. A failed purchase.
        public static let invalidOfferPrice: Code = "invalid_offer_price"
        /// The account is not eligible for the offer. A failed purchase.
        public static let ineligibleForOffer: Code = "ineligible_for_offer"
        /// The customer must first settle something at the store, where the purchase waits. A failed purchase.
        public static let interrupted: Code = "interrupted"
        /// The code is unknown, or belongs to another app. 404.
        public static let unknownCode: Code = "unknown_code"
        /// The code has already been redeemed. 409.
        public static let codeUsed: Code = "code_used"
        /// The operator injected an error by name; ``WireError/error`` holds it. 422.
        public static let ordered: Code = "ordered"
        /// The idempotency key was already used for another purchase. 409.
        public static let idempotencyKeyReused: Code = "idempotency_key_reused"
        /// The account needs approval for purchases, and the request for the item was recorded. 409.
        public static let awaitsApproval: Code = "awaits_approval"
        /// The transaction's state does not allow the request. 409.
        public static let wrongState: Code = "wrong_state"
        /// A request for the refund of the transaction waits for a decision already. 409.
        public static let refundRequested: Code = "refund_requested"
        /// The change names an old revision: another editor was faster. 409; the answer has the current state.
        public static let staleRevision: Code = "stale_revision"
        /// Another process of the store has the page, the upload or the feed; `Cornerstore-Process` names it. 421.
        public static let otherProcess: Code = "other_process"
        /// The catalog file to take in has problems. 422; the answer lists them.
        public static let invalidCatalog: Code = "invalid_catalog"
        /// The transaction's product has no hosted content that can be downloaded. 404.
        public static let noContent: Code = "no_content"
        /// The upload, or the version of hosted content, does not exist. 404.
        public static let unknownContent: Code = "unknown_content"
        /// The package failed its check. 422.
        public static let invalidContent: Code = "invalid_content"
        /// The offset is not where the upload continues. 409.
        public static let wrongOffset: Code = "wrong_offset"
        /// The download address has expired; ask for another. 403.
        public static let addressExpired: Code = "address_expired"
        /// The download address was not made by this store, or the request is not permitted there. 403.
        public static let forbidden: Code = "forbidden"
        /// The operator injected a fault, or the store is unavailable for a short time; try again later. 503.
        public static let unavailable: Code = "unavailable"
        /// Too many requests of this kind. `Retry-After` says when to try again. 429.
        public static let rateLimited: Code = "rate_limited"
        /// The store failed unexpectedly. The request id finds the error in the log. 500.
        public static let internalError: Code = "internal_error"
    }

    /// The code of the reason.
    public var code: Code
    /// The problem, where it occurred, and how to fix it, in English.
    public var message: String
    /// The identifier that finds the request in the store's log.
    public var requestID: String?
    /// The error that the device passes to the app; set only with ``Code/ordered``.
    public var error: OrderedError?

    /// Creates an error.
    public init(code: Code, message: String, requestID: String? = nil, error: OrderedError? = nil) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.error = error
    }

    private enum CodingKeys: String, CodingKey {
        case code, message
        case requestID = "requestId"
        case error
    }
}
