import HTTPSupport
import HTTPTypes
import Store
import StoreWire

extension HTTPProblem {
    /// Maps the store's errors to HTTP. Only this function turns an error code into a status.
    static func store(_ error: any Error) -> HTTPProblem? {
        switch error {
        case let error as StoreError:
            return HTTPProblem(status(of: error.code), code: error.code.rawValue, message: error.detail)
        default:
            return StoreError(databaseError: error).flatMap(store)
        }
    }

    static func status(of code: WireError.Code) -> HTTPResponse.Status {
        switch code {
        case .notSignedIn, .wrongPassword: .unauthorized
        case .accountLocked: .forbidden
        case .notFound, .unknownApp, .productNotAvailable, .unknownTransaction, .unknownCode, .noContent,
            .unknownContent, .unknownItem, .unknownReview:
            .notFound
        case .timeout: .requestTimeout
        case .tooLarge: .contentTooLarge
        case .idempotencyKeyReused, .awaitsApproval, .wrongState, .codeUsed, .priceChanged, .wrongOffset,
            .staleRevision, .refundRequested:
            .conflict
        case .otherProcess: .misdirectedRequest
        case .invalidContent, .invalidCatalog, .ordered: .unprocessableContent
        case .paymentNotAllowed, .addressExpired, .forbidden, .notOwned: .forbidden
        case .rateLimited: .tooManyRequests
        case .unavailable: .serviceUnavailable
        case .internalError: .internalServerError
        default: .badRequest
        }
    }
}
