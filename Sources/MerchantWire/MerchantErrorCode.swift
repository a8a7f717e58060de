import StoreWire

/// A code for the reason of a refusal. The set is open: a newer merchant may send other codes.
public struct MerchantErrorCode: StringIdentifier {
    /// The code as it is written in JSON, such as `not_entitled`.
    public let rawValue: String
    /// Creates a code from its JSON spelling; every text is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request is invalid: malformed JSON, a missing key or a value out of range. 400.
    public static let invalidRequest: MerchantErrorCode = "invalid_request"
    /// A name is not in Unicode's normalization form C. 400; normalize it before it is sent.
    public static let nameNotNormalized: MerchantErrorCode = "name_not_normalized"
    /// The request or the file exceeds a size limit. 413.
    public static let tooLarge: MerchantErrorCode = "too_large"
    /// The user's token is missing, invalid or expired. 401.
    public static let notSignedIn: MerchantErrorCode = "not_signed_in"
    /// The token or API key does not permit the request. 403.
    public static let forbidden: MerchantErrorCode = "forbidden"
    /// The receipt, signed transaction or notification is malformed. 422.
    public static let malformedReceipt: MerchantErrorCode = "malformed_receipt"
    /// The signature or the certificates are not from a store that the merchant trusts. 422.
    public static let notGenuine: MerchantErrorCode = "not_genuine"
    /// The purchase was made in another app. 422.
    public static let wrongApp: MerchantErrorCode = "wrong_app"
    /// The purchase was made in an environment that this merchant does not accept. 422.
    public static let wrongEnvironment: MerchantErrorCode = "wrong_environment"
    /// The purchase was refunded or is no longer shared. 422.
    public static let revoked: MerchantErrorCode = "revoked"
    /// The subscription period has ended. 422.
    public static let expired: MerchantErrorCode = "expired"
    /// The merchant does not sell the product. 422.
    public static let unknownProduct: MerchantErrorCode = "unknown_product"
    /// The product's kind differs between the store and the merchant's list. 422; the merchant has to correct the list.
    public static let wrongKind: MerchantErrorCode = "wrong_kind"
    /// The receipt contains no purchase. 422.
    public static let nothingToRedeem: MerchantErrorCode = "nothing_to_redeem"
    /// The store knows no transaction with this identifier. 422.
    public static let unknownTransaction: MerchantErrorCode = "unknown_transaction"
    /// The merchant cannot ask the store about this app's transactions: it has no key of the store's API, or the store
    /// refuses the key. 422; the merchant has to configure one.
    public static let noStoreKey: MerchantErrorCode = "no_store_key"
    /// Another user has redeemed the purchase. 409.
    public static let alreadyRedeemed: MerchantErrorCode = "already_redeemed"
    /// The balance is too low. 409.
    public static let insufficientBalance: MerchantErrorCode = "insufficient_balance"
    /// The body of the request took too long to arrive. 408; send it again.
    public static let timeout: MerchantErrorCode = "timeout"
    /// The idempotency key was used before with other parameters. 409.
    public static let keyReused: MerchantErrorCode = "key_reused"
    /// The product or other resource does not exist. 404.
    public static let notFound: MerchantErrorCode = "not_found"
    /// The user is not entitled to the content item. 403.
    public static let notEntitled: MerchantErrorCode = "not_entitled"
    /// The content was downloaded as often as is allowed before the purchase is redeemed. 403; redeem it, then
    /// download.
    public static let downloadLimit: MerchantErrorCode = "download_limit"
    /// The content item does not exist. 404.
    public static let unknownContent: MerchantErrorCode = "unknown_content"
    /// Too many requests. 429; try again later.
    public static let rateLimited: MerchantErrorCode = "rate_limited"
    /// The merchant needs the store's answer, and the store is unavailable. 503; try again later.
    public static let storeUnavailable: MerchantErrorCode = "store_unavailable"
    /// The merchant is temporarily unavailable. 503; try again later.
    public static let unavailable: MerchantErrorCode = "unavailable"
    /// An internal error occurred. The merchant's log has it under the request's identifier. 500.
    public static let internalError: MerchantErrorCode = "internal_error"

    /// Every code that this version of the merchant sends, sorted by name.
    public static var all: [MerchantErrorCode] { texts.keys.sorted() }

    /// A sentence for the app's user, in English; nil for an unknown code.
    public var text: String? { Self.texts[self] }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool { Self.retryable.contains(self) }

    private static let retryable: Set<MerchantErrorCode> = [
        .timeout, .rateLimited, .storeUnavailable, .unavailable, .internalError,
    ]

    private static let texts: [MerchantErrorCode: String] = [
        .invalidRequest: "The server could not understand the app's request. Update the app.",
        .nameNotNormalized: "The app sent an invalid name. Update the app.",
        .tooLarge: "This is too large.",
        .notSignedIn: "Sign in again.",
        .forbidden: "You may not do this.",
        .malformedReceipt: "The proof of purchase cannot be read.",
        .notGenuine: "The proof of purchase is not genuine.",
        .wrongApp: "This purchase was made in another app.",
        .wrongEnvironment: "This purchase was made in another environment of the store.",
        .revoked: "This purchase was refunded.",
        .expired: "This subscription has ended.",
        .unknownProduct: "This product is not sold here.",
        .wrongKind: "This product is set up incorrectly. Contact the app's developer.",
        .nothingToRedeem: "There is no purchase to redeem.",
        .unknownTransaction: "The store does not know this purchase.",
        .noStoreKey: "This purchase cannot be checked here. Contact the app's developer.",
        .alreadyRedeemed: "This purchase belongs to another user.",
        .insufficientBalance: "Your balance is too low.",
        .timeout: "The connection is too slow. Try again.",
        .keyReused: "The app repeated a request with different contents. Update the app.",
        .notFound: "This does not exist.",
        .notEntitled: "You have not bought this.",
        .downloadLimit: "This was downloaded too often. Sign in again to complete your purchase.",
        .unknownContent: "This content does not exist.",
        .rateLimited: "Too many requests. Wait a moment and try again.",
        .storeUnavailable: "The store is unavailable. Try again later.",
        .unavailable: "The server is unavailable. Try again later.",
        .internalError: "Something went wrong. Try again later.",
    ]
}

/// The JSON body of every response whose status is not 2xx.
public struct MerchantWireError: Error, Codable, Sendable, Equatable {
    /// Why the merchant refused.
    public var code: MerchantErrorCode
    /// The problem, where it occurred, and how to fix it, in English.
    public var message: String
    /// The identifier of the request in the merchant's log.
    public var requestID: String?

    /// Creates the body of an error response.
    public init(code: MerchantErrorCode, message: String, requestID: String? = nil) {
        self.code = code
        self.message = message
        self.requestID = requestID
    }

    private enum CodingKeys: String, CodingKey {
        case code, message
        case requestID = "requestId"
    }
}
