import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import StoreReceipts
import StoreWire

/// Answers `verifyReceipt` as Apple's two hosts do: every response is HTTP 200 with the result in the body's `status`,
/// and the request's content type is ignored.
struct VerifyReceiptController: Sendable {
    static let contentType = "application/json;charset=UTF-8"

    let store: Store
    /// The log of requests; nil for none.
    var requests: RequestLog?

    func addRoutes(to router: Router<StoreRequestContext>) {
        let path = RouterPath(StoreRoute.verifyReceipt.template)
        router.on(path, method: .post, use: verify)
        for method in [HTTPRequest.Method.get, .put, .delete, .patch, .head, .options, .trace] {
            router.on(path, method: method) { _, _ in response(store.answerToOtherMethods, to: method) }
        }
    }

    @Sendable private func verify(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let body: ByteBuffer
        do {
            body = try await request.boundedBody(upTo: StoreLimits.verifyReceiptRequest)
        } catch let problem as HTTPProblem where problem.status == .contentTooLarge {
            return response(store.answerToOversizedBody)
        } catch let problem as HTTPProblem where problem.status == .serviceUnavailable {
            throw problem
        } catch is HTTPProblem {
            // The body broke off or arrived too slowly. The rest of it cannot be a request, so close the connection.
            var response = response(store.answerToUnreadableBody)
            response.headers[.connection] = "close"
            return response
        }
        switch store.verifyAtOnce(body.readableBytesUInt8Span) {
        case .answer(let answer): return response(answer)
        case .later(let pending): return response(await store.verify(pending))
        }
    }

    private func response(_ answer: VerifyReceiptResponse, to method: HTTPRequest.Method = .post) -> Response {
        requests?.verified(answer, method: method, store.environment)
        return Response(
            status: .ok, headers: [.contentType: Self.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.json)))
    }
}
