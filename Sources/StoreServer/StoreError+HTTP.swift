import Database
import HTTPSupport
import HTTPTypes
import Store
import StoreWire

extension HTTPProblem {
    /// The store's errors as HTTP: the one place where a reason becomes a status.
    static func store(_ error: any Error) -> HTTPProblem? {
        switch error {
        case let error as StoreError:
            return HTTPProblem(status(of: error.code), code: error.code.rawValue, message: error.detail)
        case let error as DatabaseError where error.isTemporary:
            return HTTPProblem(
                .serviceUnavailable, code: WireError.Code.unavailable.rawValue,
                message: "The store's database does not answer. Nothing was recorded; try again.")
        case let error as DatabaseError where error.code == .invalidValue:
            return HTTPProblem(
                .badRequest, code: WireError.Code.invalidRequest.rawValue, message: "The request holds a text that cannot be kept, such as a NUL.")
        default:
            return nil
        }
    }

    private static func status(of code: WireError.Code) -> HTTPResponse.Status {
        switch code {
        case .notSignedIn, .wrongPassword: .unauthorized
        case .accountLocked: .forbidden
        case .unknownApp, .productNotAvailable, .unknownTransaction: .notFound
        case .tooLarge: .contentTooLarge
        case .idempotencyKeyReused, .wrongState: .conflict
        case .unavailable: .serviceUnavailable
        case .internalError: .internalServerError
        default: .badRequest
        }
    }
}

extension DatabaseError {
    /// Whether the same request may succeed later.
    fileprivate var isTemporary: Bool {
        switch code {
        case .unavailable, .busy, .full, .serialization, .closed: true
        default: false
        }
    }
}
