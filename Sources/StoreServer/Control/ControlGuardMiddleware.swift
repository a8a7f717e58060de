import Crypto
import HTTPSupport
import HTTPTypes
import Hummingbird

/// Keeps web pages and strangers off the control port: the request must name a loopback host (a page that resolves its own name to 127.0.0.1 does
/// not), a page's requests must come from this origin, bodies must be announced as JSON (which a page may not send to another origin unasked), and
/// where there is an admin token it must be shown. A payment sheet's page and its answer need none: a browser has no token to show, and the
/// sheet's unguessable id stands for it.
struct ControlGuardMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    let adminToken: String?

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        if let adminToken {
            // Digests of equal length compare in constant time.
            let shown = SHA256.hash(data: Array((request.bearerToken ?? "").utf8))
            guard shown == SHA256.hash(data: Array(adminToken.utf8)) || Self.isSheet(request) else {
                throw HTTPProblem(
                    .unauthorized, code: "not_signed_in", message: "The control port needs the admin token.")
            }
        } else {
            let host = (request.head.authority ?? "").lowercased()
            let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
            guard ["127.0.0.1", "localhost", "[::1]"].contains(String(name)) else {
                throw HTTPProblem(.forbidden, code: "forbidden", message: "The control port answers on loopback only.")
            }
        }
        // A page of another origin may send some requests unasked, but not without saying where it is from.
        let authority = (request.head.authority ?? "").lowercased()
        if let origin = request.headers[.origin]?.lowercased(),
            !["http://\(authority)", "https://\(authority)"].contains(origin)
        {
            throw HTTPProblem(
                .forbidden, code: "forbidden", message: "The control port does not answer other origins' pages.")
        }
        if [.post, .put, .patch].contains(request.method), request.headers[.contentLength].map({ $0 != "0" }) ?? true {
            // What is uploaded is no JSON, and its type may be sent unasked as little.
            let isUpload =
                request.method == .patch && request.uri.path.hasPrefix(ContentControlController.uploads + "/")
                && request.headers[.contentType] == "application/octet-stream"
            guard isUpload || request.headers[.contentType]?.lowercased().hasPrefix("application/json") == true else {
                throw HTTPProblem(
                    .unsupportedMediaType, code: "invalid_request", message: "Send Content-Type: application/json.")
            }
        }
        return try await next(request, context)
    }

    /// Whether a browser asks for a payment sheet's page, or sends its answer.
    private static func isSheet(_ request: Request) -> Bool {
        let path = request.uri.path.split(separator: "/", omittingEmptySubsequences: true)
        return switch request.method {
        case .get: path.count == 2 && path[0] == "sheets"
        case .post: path.count == 3 && path[0] == "sheets" && path[2] == "answer"
        default: false
        }
    }
}
