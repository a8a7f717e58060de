import HTTPSupport
import Hummingbird

/// Refuses requests while the process may have missed a change that another process of the store announced, so that it
/// answers with nothing old: a locked account, a revoked key, a refunded purchase. Refuses them also while the
/// machine's clock is wrong, since dates would be wrong then.
struct CurrentMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    /// The message of the answer.
    static let message = "This process of the store is not ready, for a reason that GET /ready names. Try again."

    /// Whether the process has heard everything up to a few seconds ago, and its clock is right.
    let isCurrent: @Sendable () -> Bool

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard isCurrent() else {
            throw HTTPProblem(.serviceUnavailable, code: "unavailable", message: Self.message)
        }
        return try await next(request, context)
    }
}
