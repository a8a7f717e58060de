import Database
import StoreWire

/// The reason why the store refused a request. Devices receive both `code` and `detail`.
public struct StoreError: Error, Sendable, Equatable {
    /// The code of the failure, as the wire format names it.
    public var code: WireError.Code
    /// A sentence for a person. It holds no secret.
    public var detail: String

    /// Creates an error.
    public init(_ code: WireError.Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

extension StoreError {
    /// Maps a database error to the error that devices receive: `unavailable` when the database does not answer, or
    /// `invalid_request` when it cannot store a text. Nil for all other errors, which the client cannot resolve.
    public init?(databaseError error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        switch error.code {
        case .unavailable:
            // From a commit, it means that the outcome is unknown. A read has no outcome to record.
            self.init(
                .unavailable,
                "The store's database does not answer. If the request changes something, the change may have been "
                    + "recorded. Repeat the same request, with the same idempotency key if it has one.")
        case .busy, .full, .serialization, .closed:
            self.init(.unavailable, "The store's database does not answer. Nothing was recorded; try again.")
        case .invalidValue:
            self.init(.invalidRequest, "The request contains text that cannot be stored, such as text with a NUL.")
        default: return nil
        }
    }
}
