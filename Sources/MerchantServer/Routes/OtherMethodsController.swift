import HTTPSupport
import HTTPTypes
import Hummingbird
import MerchantWire

/// Answers the methods that a route of the table does not have: 405, with those that it has in `Allow` (RFC 9110, section 15.5.6).
struct OtherMethodsController: Sendable {
    private static let all: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace]

    /// - Parameter alsoRouted: methods that are answered beside those of the table, by template.
    func addRoutes(
        to router: Router<MerchantRequestContext>, alsoRouted: [String: [HTTPRequest.Method]]
    ) {
        let routes = Dictionary(grouping: MerchantRoute.all, by: \.template)
        for (template, routes) in routes {
            let known = routes.compactMap { HTTPRequest.Method(rawValue: $0.method.rawValue) }
            let allowed = Self.all.filter { (known + (alsoRouted[template] ?? [])).contains($0) }
            for method in Self.all where !allowed.contains(method) {
                router.on(RouterPath(template), method: method) { request, context -> Response in
                    var response = try HTTPProblem(
                        .methodNotAllowed, code: MerchantErrorCode.invalidRequest.rawValue,
                        message: "This address answers \(allowed.map(\.rawValue).joined(separator: ", "))."
                    ).response(from: request, context: context)
                    response.headers[.allow] = allowed.map(\.rawValue).joined(separator: ", ")
                    return response
                }
            }
        }
    }
}
