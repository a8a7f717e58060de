public import HTTPTypes
import Hummingbird

/// Keeps pages of other origins off a server of pages.
///
/// - `Host` must be a name of this server. A page whose host name was made to resolve to 127.0.0.1 has another.
/// - Requests other than `GET` must come from the server's own pages: by `Sec-Fetch-Site`, else by `Origin`.
public struct PageGuardMiddleware<Context: RequestContext>: RouterMiddleware {
    private let allows: @Sendable (String) -> Bool
    private let misdirected: String
    private let foreign: String

    /// Creates a guard.
    /// - Parameters:
    ///   - allows: whether the server answers to a host's name, which is in lower case and without a port.
    ///   - misdirected: the message for another host.
    ///   - foreign: the message for a form of another origin.
    public init(allows: @escaping @Sendable (String) -> Bool, misdirected: String, foreign: String) {
        (self.allows, self.misdirected, self.foreign) = (allows, misdirected, foreign)
    }

    /// Passes the request on.
    /// - Throws: ``HTTPProblem`` 421 for another host, 403 for a form of another origin.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let authority = (request.head.authority ?? "").lowercased()
        guard allows(Self.name(authority)) else {
            throw HTTPProblem(.misdirectedRequest, code: "forbidden", message: misdirected)
        }
        if request.method != .get, request.method != .head, !Self.isOwn(request, authority) {
            throw HTTPProblem(.forbidden, code: "forbidden", message: foreign)
        }
        return try await next(request, context)
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

/// Adds the fields that limit what a page may load to every answer.
public struct PageFieldsMiddleware<Context: RequestContext>: RouterMiddleware {
    private let fields: [(HTTPField.Name, String)]

    /// Creates the middleware.
    /// - Parameter formTargets: the other origins to which the answer to a form may lead.
    public init(formTargets: [String] = []) {
        let targets = (["'self'"] + formTargets).joined(separator: " ")
        fields = [
            (
                .contentSecurityPolicy,
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "form-action \(targets); base-uri 'none'; frame-ancestors 'none'; "
                    + "require-trusted-types-for 'script'; trusted-types cornerstore"
            ),
            (.xContentTypeOptions, "nosniff"), (.referrerPolicy, "no-referrer"), (.cacheControl, "no-store"),
        ]
    }

    /// Passes the request on, and adds the fields that its answer does not have.
    /// - Throws: the error of `next`.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        for (name, value) in fields where response.headers[name] == nil { response.headers[name] = value }
        return response
    }
}

extension HTTPField.Name {
    /// The `Sec-Fetch-Site` field, by which a browser says whose page made the request.
    public static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    /// The `Referrer-Policy` field.
    public static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .server
}
