/// Why the store refused, as its JSON body says with every status that is not 2xx.
public struct WireError: Error, Codable, Sendable, Equatable {
    /// A stable word for the reason. The set is open: a newer store may say others.
    public struct Code: StringIdentifier {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request is not understood: malformed JSON, a missing key, a value out of range. 400.
        public static let invalidRequest: Code = "invalid_request"
        /// The body is over the limit. 413.
        public static let tooLarge: Code = "too_large"
        /// No token, or one that is not known. 401; sign in again.
        public static let notSignedIn: Code = "not_signed_in"
        /// The e-mail address and password do not match. 401.
        public static let wrongPassword: Code = "wrong_password"
        /// Too many wrong passwords, or locked by the operator. 403.
        public static let accountLocked: Code = "account_locked"
        /// No app of that bundle identifier is known. 404.
        public static let unknownApp: Code = "unknown_app"
        /// The product is not known, not on sale, or not available in the storefront. 404, or a failed purchase.
        public static let productNotAvailable: Code = "product_not_available"
        /// No such transaction of this account. 404.
        public static let unknownTransaction: Code = "unknown_transaction"
        /// The quantity is out of range or not allowed. A failed purchase.
        public static let invalidQuantity: Code = "invalid_quantity"
        /// The price is not the one the customer agreed to. A failed purchase.
        public static let priceChanged: Code = "price_changed"
        /// The payment processor declined. A failed purchase.
        public static let paymentDeclined: Code = "payment_declined"
        /// The account is subscribed to it already. A failed purchase.
        public static let alreadySubscribed: Code = "already_subscribed"
        /// The account may not buy. A failed purchase.
        public static let paymentNotAllowed: Code = "payment_not_allowed"
        /// The product has no promotional offer of that identifier. A failed purchase.
        public static let invalidOfferIdentifier: Code = "invalid_offer_identifier"
        /// The offer's signature is not good: by an unknown key, of other values, too old, or used before. A failed purchase.
        public static let invalidOfferSignature: Code = "invalid_offer_signature"
        /// The offer lacks its identifier, key or signature. A failed purchase.
        public static let missingOfferParameters: Code = "missing_offer_parameters"
        /// The offer costs more than the product. A failed purchase.
        public static let invalidOfferPrice: Code = "invalid_offer_price"
        /// The account may not have the offer. A failed purchase.
        public static let ineligibleForOffer: Code = "ineligible_for_offer"
        /// The customer has something to settle at the store first; the purchase waits there. A failed purchase.
        public static let interrupted: Code = "interrupted"
        /// No such code, or not of this app. 404.
        public static let unknownCode: Code = "unknown_code"
        /// The code was redeemed before. 409.
        public static let codeUsed: Code = "code_used"
        /// An error that the operator ordered by name: ``WireError/error`` says which. 422.
        public static let ordered: Code = "ordered"
        /// The key was used before for another purchase. 409.
        public static let idempotencyKeyReused: Code = "idempotency_key_reused"
        /// The transaction is in a state in which that cannot be done. 409.
        public static let wrongState: Code = "wrong_state"
        /// The store hosts nothing for the transaction's product that can be downloaded. 404.
        public static let noContent: Code = "no_content"
        /// There is no such upload, or version of hosted content. 404.
        public static let unknownContent: Code = "unknown_content"
        /// A package is not in order. 422.
        public static let invalidContent: Code = "invalid_content"
        /// An upload does not go on at that byte. 409.
        public static let wrongOffset: Code = "wrong_offset"
        /// The address of a download is good no longer; ask for another. 403.
        public static let addressExpired: Code = "address_expired"
        /// The address of a download was not made by this store. 403.
        public static let forbidden: Code = "forbidden"
        /// A fault that the operator ordered, or a passing one; try again later. 503.
        public static let unavailable: Code = "unavailable"
        /// Too many requests of this kind; `Retry-After` says when to come back. 429.
        public static let rateLimited: Code = "rate_limited"
        /// Something broke; the request id finds it in the log. 500.
        public static let internalError: Code = "internal_error"
    }

    public var code: Code
    /// What was wrong, where, and what to do, in English.
    public var message: String
    /// Finds the request in the store's log.
    public var requestID: String?
    /// Which error the device is to give the app, with ``Code/ordered``.
    public var error: OrderedError?

    public init(code: Code, message: String, requestID: String? = nil, error: OrderedError? = nil) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.error = error
    }
}
