import Database
import StoreWire

/// Why the store refused. `code` goes to the device as it stands; `detail` is safe to show and holds no secret.
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
    /// A database that does not answer, or a text that it does not keep, as the device is told of it; nil for an error that neither trying again
    /// nor asking for something else mends.
    public init?(databaseError error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        switch error.code {
        case .unavailable, .busy, .full, .serialization, .closed:
            self.init(.unavailable, "The store's database does not answer. Nothing was recorded; try again.")
        case .invalidValue:
            self.init(.invalidRequest, "The request holds a text that cannot be kept, such as one with a NUL.")
        default: return nil
        }
    }
}
