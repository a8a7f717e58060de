import Database
import MerchantWire

/// Why the merchant refused. `code` goes to the app as it stands; `detail` is safe to show and holds no secret.
public struct MerchantError: Error, Sendable, Equatable {
    /// The code that apps and backends receive.
    public var code: MerchantErrorCode
    /// What was wrong, where, and what to do, in English.
    public var detail: String
    /// What more the log may say, for who runs the merchant; no secret either.
    public var reason: String?
    /// In how many seconds it may be tried again, when that is known.
    public var retryAfter: Int?

    /// Creates an error.
    public init(_ code: MerchantErrorCode, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// A refusal in the words that an app may show.
    public init(_ code: MerchantErrorCode) {
        self.init(code, code.text ?? code.rawValue)
    }
}

extension MerchantError {
    /// A database that does not answer, or a text that it does not keep, as the app is told of it; nil for an error that
    /// neither trying again nor asking for something else mends.
    public init?(databaseError error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        switch error.code {
        case .unavailable, .busy, .full, .serialization, .closed:
            self.init(.unavailable, "The merchant's database does not answer. Nothing was recorded; try again.")
        case .invalidValue:
            self.init(.invalidRequest, "The request holds a text that cannot be kept, such as one with a NUL.")
        default: return nil
        }
    }
}
