/// The `status` of a `verifyReceipt` answer (Apple's "status" reference).
public struct VerifyReceiptStatus: RawRepresentable, Sendable, Hashable {
    /// The number.
    public var rawValue: Int

    /// Creates a status.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The receipt is valid.
    public static let ok = VerifyReceiptStatus(rawValue: 0)
    /// The request was not a POST, or its body was not a JSON object.
    public static let unreadableRequest = VerifyReceiptStatus(rawValue: 21_000)
    /// Apple no longer sends this status, and Cornerstore does not send it either.
    public static let noLongerSent = VerifyReceiptStatus(rawValue: 21_001)
    /// The value of `receipt-data` is missing or malformed.
    public static let malformedReceipt = VerifyReceiptStatus(rawValue: 21_002)
    /// The receipt's signature or chain is invalid.
    public static let notAuthenticated = VerifyReceiptStatus(rawValue: 21_003)
    /// The value of `password` is not the app's shared secret.
    public static let secretMismatch = VerifyReceiptStatus(rawValue: 21_004)
    /// The receipt server is not available.
    public static let unavailable = VerifyReceiptStatus(rawValue: 21_005)
    /// The receipt is valid, but the subscription has expired. Only for transaction receipts of iOS 6, whose answers
    /// have the other members all the same.
    public static let subscriptionExpired = VerifyReceiptStatus(rawValue: 21_006)
    /// A sandbox receipt was sent to production.
    public static let sandboxReceipt = VerifyReceiptStatus(rawValue: 21_007)
    /// A production receipt was sent to the sandbox.
    public static let productionReceipt = VerifyReceiptStatus(rawValue: 21_008)
    /// The data could not be read.
    public static let dataAccess = VerifyReceiptStatus(rawValue: 21_009)
    /// The account was not found or has been deleted.
    public static let accountNotFound = VerifyReceiptStatus(rawValue: 21_010)
    /// The data could not be read; each internal cause has one number.
    public static let internalDataAccess = 21_100...21_199

    /// The meaning of the number; nil if Apple documents none.
    public var meaning: String? {
        switch self {
        case .ok: "the receipt is valid"
        case .unreadableRequest: "the request was not a POST with a JSON object"
        case .noLongerSent: "this status is no longer sent"
        case .malformedReceipt: "the receipt data is missing or malformed"
        case .notAuthenticated: "the receipt could not be authenticated"
        case .secretMismatch: "the shared secret does not match the one on file"
        case .unavailable: "the receipt server is temporarily unavailable"
        case .subscriptionExpired: "the receipt is valid, but the subscription has expired"
        case .sandboxReceipt: "the receipt is from the sandbox and was sent to production"
        case .productionReceipt: "the receipt is from production and was sent to the sandbox"
        case .dataAccess: "internal data access error; try again later"
        case .accountNotFound: "the account was not found or has been deleted"
        case _ where Self.internalDataAccess.contains(rawValue): "internal data access error"
        default: nil
        }
    }

    /// Whether the same request may succeed later: 21005, 21009 and 21100 to 21199.
    public var isRetryable: Bool {
        self == .unavailable || self == .dataAccess || Self.internalDataAccess.contains(rawValue)
    }

    /// Creates the status of a request's outcome. No other code decides it.
    public init(_ outcome: VerificationOutcome) {
        self =
            switch outcome {
            case .ok: .ok
            case .notPost, .notJSON: .unreadableRequest
            case .malformedReceipt: .malformedReceipt
            case .rejected(let code): Self(code)
            case .secretMismatch: .secretMismatch
            case .expiredSubscription: .subscriptionExpired
            case .wrongEnvironment(let receipt, let host):
                switch (receipt, host) {
                case (.sandbox, .production): .sandboxReceipt
                case (.production, .sandbox): .productionReceipt
                case (.sandbox, .sandbox), (.production, .production): .ok
                }
            case .accountNotFound: .accountNotFound
            case .ordered(let number):
                // Only a status that Apple calls temporary can be injected. Any other would make a valid receipt
                // invalid.
                Self(rawValue: number).isRetryable ? Self(rawValue: number) : .dataAccess
            }
    }

    /// Bytes that are not a receipt are malformed; a receipt that cannot be trusted is not authenticated.
    private init(_ code: ReceiptRejection.Code) {
        self =
            switch code {
            case .malformed, .truncated, .trailingData, .tooDeep, .tooLarge: .malformedReceipt
            case .unsupportedAlgorithm, .badSignature, .unknownIssuer, .wrongChain, .missingMarker, .expired,
                .wrongBundleID,
                .wrongVersion, .wrongDeviceHash:
                .notAuthenticated
            }
    }
}
