import CornerstoreEncoding
import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import StoreReceipts

/// Serves the OCSP responder, which tells whether the certificates of signed payloads are good: `POST /ocsp`, and
/// `GET /ocsp/{request}` with the request in Base64 (RFC 6960, appendix A.1). Errors of the protocol are answers of
/// status 200, too.
struct OCSPController: Sendable {
    static let contentType = "application/ocsp-response"
    /// The most bytes of the Base64 in a path, percent-encoded. Clients use GET only for addresses of up to 255 bytes.
    private static let longestPath = 4 << 10

    let responder: OCSPResponder
    /// The machine's clock.
    let now: @Sendable () -> Date

    func addRoutes(to router: Router<StoreRequestContext>) {
        let path = CurrentAuthority.ocspPath
        router.on(RouterPath(path), method: .post) { request, _ in
            let body = try await request.boundedBody(upTo: OCSPResponder.largestRequest)
            return answer(Array(buffer: body))
        }
        // Some clients leave the slashes of Base64 as they are, so that the request may be several segments.
        router.on(RouterPath("\(path)/**"), method: .get) { request, _ in
            answer(Self.request(in: request.uri.path.dropFirst(path.count + 1)))
        }
    }

    /// The request in a path; empty, which the responder refuses, if the path is not Base64 or too long.
    private static func request(in path: Substring) -> [UInt8] {
        guard path.utf8.count <= longestPath, let text = String(path).removingPercentEncoding else { return [] }
        return Base64.decoded(text) ?? []
    }

    private func answer(_ request: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: Self.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: responder.answer(request, at: now()))))
    }
}
