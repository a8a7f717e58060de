import StoreWire

/// Why the merchant refused. The set is open: a newer merchant may say others.
public struct MerchantErrorCode: StringIdentifier {
    /// The code as it is written in JSON, such as `not_entitled`.
    public let rawValue: String
    /// Creates a code from its JSON spelling; every text is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request is not understood: malformed JSON, a missing key, a value out of range. 400.
    public static let invalidRequest: MerchantErrorCode = "invalid_request"
    /// A name is not in Unicode's normalization form C. 400; normalize it before it is sent.
    public static let nameNotNormalized: MerchantErrorCode = "name_not_normalized"
    /// Over a size limit. 413.
    public static let tooLarge: MerchantErrorCode = "too_large"
    /// No token, or one that is not good any longer. 401.
    public static let notSignedIn: MerchantErrorCode = "not_signed_in"
    /// The token or key does not allow it. 403.
    public static let forbidden: MerchantErrorCode = "forbidden"
    /// The receipt or signed transaction is none, or cannot be read. 422.
    public static let malformedReceipt: MerchantErrorCode = "malformed_receipt"
    /// Its signature or its certificates are not those of a store that the merchant trusts. 422.
    public static let notGenuine: MerchantErrorCode = "not_genuine"
    /// It is of another app. 422.
    public static let wrongApp: MerchantErrorCode = "wrong_app"
    /// It is of the sandbox (or of production), and this merchant takes none of those. 422.
    public static let wrongEnvironment: MerchantErrorCode = "wrong_environment"
    /// The purchase was refunded or is no longer shared. 422.
    public static let revoked: MerchantErrorCode = "revoked"
    /// The period that was paid for is over. 422.
    public static let expired: MerchantErrorCode = "expired"
    /// The merchant does not sell the product. 422.
    public static let unknownProduct: MerchantErrorCode = "unknown_product"
    /// The store says that the product is of another kind than the merchant's list does. 422; the merchant has to mend its list.
    public static let wrongKind: MerchantErrorCode = "wrong_kind"
    /// The receipt holds no purchase. 422.
    public static let nothingToRedeem: MerchantErrorCode = "nothing_to_redeem"
    /// Somebody else has redeemed it. 409.
    public static let alreadyRedeemed: MerchantErrorCode = "already_redeemed"
    /// There are not enough credits. 409.
    public static let insufficientBalance: MerchantErrorCode = "insufficient_balance"
    /// The body of the request took too long to arrive. 408; send it again.
    public static let timeout: MerchantErrorCode = "timeout"
    /// The key was used before for something else. 409.
    public static let keyReused: MerchantErrorCode = "key_reused"
    /// There is no such product. 404.
    public static let notFound: MerchantErrorCode = "not_found"
    /// The user has no right to it. 403.
    public static let notEntitled: MerchantErrorCode = "not_entitled"
    /// The purchase has delivered its content as often as it does before it is redeemed. 403; redeem it, then download.
    public static let downloadLimit: MerchantErrorCode = "download_limit"
    /// There is no such content item. 404.
    public static let unknownContent: MerchantErrorCode = "unknown_content"
    /// Too many requests. 429; try again later.
    public static let rateLimited: MerchantErrorCode = "rate_limited"
    /// The store that would have to be asked does not answer. 503; try again later.
    public static let storeUnavailable: MerchantErrorCode = "store_unavailable"
    /// The merchant cannot answer now. 503; try again later.
    public static let unavailable: MerchantErrorCode = "unavailable"
    /// Something broke; the request id finds it in the log. 500.
    public static let internalError: MerchantErrorCode = "internal_error"

    /// Every code that this version of the merchant answers, in the order of their names.
    public static var all: [MerchantErrorCode] { texts.keys.sorted() }

    /// A sentence for the app's user, in English; nil for a code that this program does not know.
    public var text: String? { Self.texts[self] }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool { Self.retryable.contains(self) }

    private static let retryable: Set<MerchantErrorCode> = [.timeout, .rateLimited, .storeUnavailable, .unavailable]

    private static let texts: [MerchantErrorCode: String] = [
        .invalidRequest: "The app sent something that was not understood. Update the app.",
        .nameNotNormalized: "The app sent a name that cannot be used. Update the app.",
        .tooLarge: "This is too large to be taken.",
        .notSignedIn: "Sign in again.",
        .forbidden: "You may not do this.",
        .malformedReceipt: "The proof of purchase cannot be read.",
        .notGenuine: "The proof of purchase is not genuine.",
        .wrongApp: "This purchase was made in another app.",
        .wrongEnvironment: "This purchase was made in another environment of the store.",
        .revoked: "This purchase was refunded.",
        .expired: "This subscription has ended.",
        .unknownProduct: "This product is not sold here.",
        .wrongKind: "This product is set up wrongly here. Ask the makers of the app.",
        .nothingToRedeem: "There is no purchase to redeem.",
        .alreadyRedeemed: "This purchase belongs to another user.",
        .insufficientBalance: "You do not have enough for this.",
        .timeout: "The connection is too slow. Try again.",
        .keyReused: "The app sent something twice that was not the same. Update the app.",
        .notFound: "This is not here.",
        .notEntitled: "You have not bought this.",
        .downloadLimit: "This was downloaded too often. Sign in again to complete your purchase.",
        .unknownContent: "This is not here.",
        .rateLimited: "That was too often. Wait a moment and try again.",
        .storeUnavailable: "The store does not answer. Try again later.",
        .unavailable: "The server does not answer. Try again later.",
        .internalError: "Something went wrong. Try again later.",
    ]
}

/// The JSON body of every answer that is not 2xx.
public struct MerchantWireError: Error, Codable, Sendable, Equatable {
    /// Why the merchant refused.
    public var code: MerchantErrorCode
    /// What was wrong, where, and what to do, in English.
    public var message: String
    /// Finds the request in the merchant's log.
    public var requestID: String?

    /// Creates the body of an error response.
    public init(code: MerchantErrorCode, message: String, requestID: String? = nil) {
        self.code = code
        self.message = message
        self.requestID = requestID
    }
}
