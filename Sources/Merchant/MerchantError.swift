import Database
import MerchantWire

/// A refusal. Apps receive ``code`` and ``detail``, which contain no secret.
public struct MerchantError: Error, Sendable, Equatable {
    /// The code that apps and backends receive.
    public var code: MerchantErrorCode
    /// The problem, where it occurred, and how to fix it, in English.
    public var detail: String
    /// Further details for the operator's log, without secrets.
    public var reason: String?
    /// The number of seconds after which a retry may succeed; nil when it is not known.
    public var retryAfter: Int?
    /// Whether the store has no transaction with the named identifier in at least one environment, whatever the error.
    public var isUnknownTransaction = false

    /// Creates an error.
    public init(_ code: MerchantErrorCode, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Creates an error with the code's own text, which an app may show.
    public init(_ code: MerchantErrorCode) {
        self.init(code, code.text ?? code.rawValue)
    }
}

extension MerchantError {
    /// Creates the error that apps receive for a ``DatabaseError``: an unavailable database or a text that it cannot
    /// store. Nil for an error that neither a retry nor another request can avoid.
    public init?(databaseError error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        switch error.code {
        case .unavailable:
            // From a commit, it means that the outcome is unknown. A read has no outcome to record.
            self.init(
                .unavailable,
                "The merchant's database is unavailable. If the request changes something, the change may have been "
                    + "recorded. Repeat the same request, with the same key if it has one.")
        case .busy, .full, .serialization, .closed:
            self.init(.unavailable, "The merchant's database is unavailable. Nothing was recorded. Try again.")
        case .invalidValue:
            self.init(.invalidRequest, "The request contains text that cannot be stored, such as a NUL character.")
        default: return nil
        }
    }
}
