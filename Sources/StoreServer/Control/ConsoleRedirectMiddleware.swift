import HTTPTypes
import Hummingbird

/// Sends a browser that opens the control port on to the console that runs beside the store. Programs, which do not ask
/// for HTML, get what they always get.
struct ConsoleRedirectMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    /// The console's base URL; nil without a console.
    let console: @Sendable () -> String?

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.uri.path == "/", [.get, .head].contains(request.method),
            request.headers[.accept]?.contains("text/html") == true, let console = console()
        else { return try await next(request, context) }
        return Response(status: .seeOther, headers: [.location: console + "/", .cacheControl: "no-store"])
    }
}
