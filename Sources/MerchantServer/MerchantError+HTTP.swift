import BlobStorage
import HTTPSupport
import HTTPTypes
import Merchant
import MerchantWire
import StoreWire

extension HTTPProblem {
    /// Maps the merchant's errors to HTTP. Only this function turns an error code into a status.
    static func merchant(_ error: any Error) -> HTTPProblem? {
        switch error {
        case let error as MerchantError:
            var problem = HTTPProblem(
                status(of: error.code), code: error.code.rawValue, message: error.detail, retryAfter: error.retryAfter)
            problem.reason = error.reason
            return problem
        case let error as BlobError where error.code == .notFound:
            return HTTPProblem(.notFound, code: MerchantErrorCode.unknownContent.rawValue, message: error.detail)
        case is BlobError:
            return HTTPProblem(
                .serviceUnavailable, code: MerchantErrorCode.unavailable.rawValue,
                message: "Content storage is unavailable. Try again.")
        default:
            return MerchantError(databaseError: error).flatMap(merchant)
        }
    }

    static func status(of code: MerchantErrorCode) -> HTTPResponse.Status {
        switch code {
        case .notSignedIn: .unauthorized
        case .forbidden, .notEntitled, .downloadLimit: .forbidden
        case .notFound, .unknownContent: .notFound
        case .timeout: .requestTimeout
        case .tooLarge: .contentTooLarge
        case .alreadyRedeemed, .insufficientBalance, .keyReused: .conflict
        case .malformedReceipt, .notGenuine, .wrongApp, .wrongEnvironment, .revoked, .expired, .unknownProduct,
            .wrongKind, .nothingToRedeem, .unknownTransaction, .noStoreKey:
            .unprocessableContent
        case .rateLimited: .tooManyRequests
        case .storeUnavailable, .unavailable: .serviceUnavailable
        case .internalError: .internalServerError
        default: .badRequest
        }
    }
}

extension HTTPRequest.Method {
    init(_ method: RouteMethod) {
        self =
            switch method {
            case .get: .get
            case .post: .post
            case .put: .put
            case .patch: .patch
            case .delete: .delete
            }
    }
}
