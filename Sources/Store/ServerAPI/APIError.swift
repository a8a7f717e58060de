import CornerstoreEncoding

/// An error of the App Store Server API, with Apple's number and text. The first three digits are the HTTP status.
public struct APIError: Error, Sendable, Equatable {
    /// Apple's `errorCode`, seven digits.
    public let code: Int
    /// Apple's `errorMessage`.
    public let message: String

    /// Creates an error from Apple's number and text.
    init(_ code: Int, _ message: String) { (self.code, self.message) = (code, message) }

    /// Apple's object: `{"errorCode": 4040010, "errorMessage": "Transaction id not found."}`.
    public var json: [UInt8] {
        var json = JSONBytes(capacity: 256)
        json.beginObject()
        json.member("errorCode", number: Int64(code))
        json.member("errorMessage", message)
        json.endObject()
        return json.bytes
    }

    /// The HTTP status.
    public var status: Int { code / 10_000 }

    /// The request cannot be read.
    public static let badRequest = APIError(4_000_000, "Bad request.")
    static let invalidRevision = APIError(4_000_005, "Invalid request revision.")
    static let invalidTransactionID = APIError(4_000_006, "Invalid transaction id.")
    static let invalidStartDate = invalid(
        15, "The start date is not a timestamp value represented in milliseconds.")
    static let invalidEndDate = invalid(16, "The end date is not a timestamp value represented in milliseconds.")
    static let startAfterEnd = invalid(13, "The end date precedes the start date or the dates are the same.")
    static let invalidSort = invalid(21, "The sort parameter is invalid.")
    static let invalidProductType = invalid(22, "The product type parameter is invalid.")
    static let invalidProductID = invalid(23, "The product id parameter is invalid.")
    static let invalidGroup = invalid(24, "The subscription group identifier parameter is invalid.")
    static let invalidExcludeRevoked = invalid(25, "The exclude revoked parameter is invalid.")
    static let invalidOwnership = invalid(26, "The in-app ownership type parameter is invalid.")
    static let invalidRevoked = invalid(30, "The revoked parameter is invalid.")
    static let invalidStatus = invalid(31, "The status parameter is invalid.")
    static let transactionNotFound = APIError(4_040_010, "Transaction id not found.")
    /// The app has made too many requests.
    public static let rateLimitExceeded = APIError(4_290_000, "Rate limit exceeded.")
    /// The store failed to answer.
    public static let unknown = APIError(5_000_000, "An unknown error occurred.")
    /// The store cannot answer now.
    public static let retryable = APIError(5_000_001, "An unknown error occurred. Please try again.")

    /// An error whose text begins with “Invalid request.”
    static func invalid(_ number: Int, _ sentence: String) -> APIError {
        APIError(4_000_000 + number, "Invalid request. \(sentence)")
    }
}
