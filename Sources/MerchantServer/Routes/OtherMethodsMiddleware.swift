import HTTPSupport
import HTTPTypes
import Hummingbird
import MerchantWire

/// Answers a method that an address does not support, known or not: 405, with the supported methods in `Allow` (RFC
/// 9110, section 15.5.6).
struct OtherMethodsMiddleware: RouterMiddleware {
    typealias Context = MerchantRequestContext

    private struct Address: Sendable {
        /// The segments of the template; nil matches any segment.
        var segments: [String?]
        var methods: [HTTPRequest.Method]
    }

    private let addresses: [Address]

    /// - Parameter alsoRouted: the methods that are routed besides those of the table, by template.
    init(alsoRouted: [String: [HTTPRequest.Method]]) {
        addresses = Dictionary(grouping: MerchantRoute.all, by: \.template).map { template, routes in
            let methods = routes.map { HTTPRequest.Method($0.method) } + (alsoRouted[template] ?? [])
            return Address(
                segments: Self.segments(template).map { $0.hasPrefix("{") ? nil : String($0) },
                methods: methods.sorted { $0.rawValue < $1.rawValue })
        }
    }

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            // No route matched.
            guard let methods = methods(at: request.uri.path), !methods.contains(request.method) else { throw error }
            let list = methods.map(\.rawValue).joined(separator: ", ")
            var response = try HTTPProblem(
                .methodNotAllowed, code: MerchantErrorCode.invalidRequest.rawValue,
                message: "This address supports \(list)."
            ).response(from: request, context: context)
            response.headers[.allow] = list
            return response
        }
    }

    private func methods(at path: String) -> [HTTPRequest.Method]? {
        let found = Self.segments(path)
        return addresses.first { address in
            address.segments.count == found.count
                && zip(address.segments, found).allSatisfy { ($0 ?? String($1)) == $1 }
        }?.methods
    }

    private static func segments(_ path: String) -> [Substring] { path.split(separator: "/") }
}
