import ControlWire
import Crypto
import HTTPSupport
import HTTPTypes
import Hummingbird
import StoreWire

/// Keeps web pages and strangers off the control port.
///
/// - Without an admin token, the request must name a loopback host. A page whose own host name resolves to 127.0.0.1
///   does not.
/// - A request that a web page sends must come from this origin.
/// - A body must be declared as JSON, which a page may not send to another origin without a preflight. Only the answer
///   to a payment sheet is a form.
/// - With an admin token, the request must carry it. A payment sheet's page, its style sheet and its answer need no
///   token: a browser has none to send, and the sheet's unguessable id authorizes them.
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
                throw HTTPProblem(
                    .forbidden, code: "forbidden",
                    message: "Without an admin token the control port accepts requests for loopback hosts only.")
            }
        }
        guard Self.isOwn(request) else {
            throw HTTPProblem(
                .forbidden, code: "forbidden", message: "The control port refuses requests from pages of other origins."
            )
        }
        if [.post, .put, .patch].contains(request.method), request.headers[.contentLength].map({ $0 != "0" }) ?? true {
            // An upload is not JSON. A page cannot send `application/octet-stream` without a preflight either.
            let isUpload =
                request.method == .patch && request.uri.path.hasPrefix(ControlRoute.beginUpload.template + "/")
                && request.headers[.contentType] == "application/octet-stream"
            let type =
                Self.matches(request, [.answer("")]) ? "application/x-www-form-urlencoded" : "application/json"
            guard isUpload || request.headers[.contentType]?.lowercased().hasPrefix(type) == true else {
                throw HTTPProblem(
                    .unsupportedMediaType, code: "invalid_request", message: "Send Content-Type: \(type).")
            }
        }
        return try await next(request, context)
    }

    /// Whether the request is of no web page, or of a page of this origin. A page of another origin can send some
    /// requests without a preflight, but never without its `Origin`.
    private static func isOwn(_ request: Request) -> Bool {
        let authority = (request.head.authority ?? "").lowercased()
        if let origin = request.headers[.origin]?.lowercased(),
            !["http://\(authority)", "https://\(authority)"].contains(origin)
        {
            return false
        }
        // Browsers set this field themselves. A link may lead here from elsewhere, as from the console.
        guard request.method != .get, request.method != .head else { return true }
        return (request.headers[.secFetchSite] ?? "same-origin") == "same-origin"
    }

    /// Whether the request needs no token because it belongs to a payment sheet's page.
    private static func isSheet(_ request: Request) -> Bool {
        matches(request, [.page(""), .answer(""), .asset("")])
    }

    private static func matches(_ request: Request, _ routes: [SheetRoute]) -> Bool {
        let path = request.uri.path.split(separator: "/")
        return routes.contains { route in
            let template = route.template.split(separator: "/")
            return request.method == HTTPRequest.Method(route.method) && path.count == template.count
                && zip(path, template).allSatisfy { $1.hasPrefix("{") || $0 == $1 }
        }
    }
}

extension HTTPField.Name {
    /// The field in which a browser says where a request comes from.
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
}
