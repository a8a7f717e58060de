import HTTPTypes
import Hummingbird

/// Answers requests to addresses under `/inApps` that the API does not have, such as the order lookup of the sandbox.
/// As anywhere in the API, the token is judged first.
struct ServerAPIPaths: RouterMiddleware {
    typealias Context = StoreRequestContext

    let controller: ServerAPIController

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && Self.contain(request.uri.path) {
            return await controller.answerUnknownPath(request, context)
        }
    }

    private static func contain(_ path: String) -> Bool { path == "/inApps" || path.hasPrefix("/inApps/") }
}
