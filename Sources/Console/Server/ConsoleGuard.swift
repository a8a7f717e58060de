import Foundation
import HTTPSupport
import HTTPTypes
import Hummingbird

/// Keeps pages of other origins off the console.
///
/// - `Host` must be a name of this machine, or with an admin token the name that the operator gave. A page whose host
///   name was made to resolve to 127.0.0.1 has another.
/// - What is no `GET` must come from the console's own pages: by `Sec-Fetch-Site`, else by `Origin`.
struct ConsoleGuard: RouterMiddleware {
    typealias Context = ConsoleRequestContext

    let configuration: ConsoleConfiguration

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let authority = (request.head.authority ?? "").lowercased()
        guard allows(Self.name(authority)) else {
            throw HTTPProblem(
                .misdirectedRequest, code: "forbidden",
                message:
                    "The console does not answer to this name. Open http://cornerstore.localhost and its port, or name the host with "
                    + "--console-host.")
        }
        if request.method != .get, request.method != .head, !Self.isOwn(request, authority) {
            throw HTTPProblem(
                .forbidden, code: "forbidden", message: "The console takes forms from its own pages only.")
        }
        return try await next(request, context)
    }

    /// Whether the console answers to a host's name.
    private func allows(_ name: String) -> Bool {
        if ["cornerstore.localhost", "localhost", "127.0.0.1", "[::1]"].contains(name) { return true }
        guard configuration.adminToken != nil, let host = configuration.publicHost else { return false }
        return name == host.lowercased()
    }

    private static func name(_ authority: String) -> String {
        authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : String(authority.prefix { $0 != ":" })
    }

    private static func isOwn(_ request: Request, _ authority: String) -> Bool {
        // Browsers set the field themselves, and no page can.
        if let site = request.headers[.secFetchSite] { return site == "same-origin" }
        guard let origin = request.headers[.origin]?.lowercased() else { return false }
        return ["http://\(authority)", "https://\(authority)"].contains(origin)
    }
}

/// Adds the fields that limit what a page may load to every answer, also to those about problems.
struct ConsoleFields: RouterMiddleware {
    typealias Context = ConsoleRequestContext

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        for (name, value) in Self.fields where response.headers[name] == nil { response.headers[name] = value }
        return response
    }

    /// The fields of every answer.
    static let fields: [(HTTPField.Name, String)] = [
        (
            .contentSecurityPolicy,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                + "trusted-types cornerstore"
        ),
        (.xContentTypeOptions, "nosniff"), (.referrerPolicy, "no-referrer"), (.cacheControl, "no-store"),
    ]
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .server
}
