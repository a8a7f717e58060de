import HTTPSupport
import HTTPTypes
import Hummingbird
import Store
import StoreWire

/// A customer's requests for refunds.
extension DeviceController {
    /// The largest body of a request for a refund, in bytes.
    private static let largestRefundRequest = 16 << 10

    @Sendable func refundable(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        guard let bundleID = request.uri.queryParameters["bundle"] else {
            throw StoreError(.invalidRequest, "The query must contain “bundle”.")
        }
        return try .json(
            try await store.refundable(
                try Self.transactionID(context), of: account, in: BundleID(String(bundleID))))
    }

    @Sendable func requestRefund(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let account = try await signedIn(request)
        let body = try await request.decodeJSON(RefundRequestMessage.self, upTo: Self.largestRefundRequest)
        guard let reason = RefundReason(rawValue: body.reason) else {
            let known = RefundReason.allCases.map(\.rawValue).joined(separator: ", ")
            throw StoreError(.invalidRequest, "“reason” must be one of \(known).")
        }
        try await store.requestRefund(
            of: try Self.transactionID(context), reason: reason, by: account, in: body.bundleID)
        return Response(status: .noContent)
    }
}
