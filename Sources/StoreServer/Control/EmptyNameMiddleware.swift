import HTTPSupport
import HTTPTypes
import Hummingbird

/// Refuses a request to the control port whose path has an empty part. The router skips empty parts, so a request that
/// removes a rule without a name would remove all rules.
struct EmptyNameMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let path = request.uri.path
        guard !path.contains("//"), path == "/" || !path.hasSuffix("/") else {
            throw HTTPProblem(
                .badRequest, code: "invalid_request",
                message: "The path has an empty part. Give a name or an identifier there.")
        }
        return try await next(request, context)
    }
}
