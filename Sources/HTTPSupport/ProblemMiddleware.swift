import HTTPTypes
import Hummingbird
import Logging

/// Turns every error into a response: an ``HTTPProblem`` as it is, what `map` knows as it says, and anything else into a bare 500 whose detail goes to
/// the log under the request's id and to nobody else.
public struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    private let map: @Sendable (any Error) -> HTTPProblem?

    /// - Parameter map: the one place where a server's own errors become HTTP.
    public init(_ map: @escaping @Sendable (any Error) -> HTTPProblem?) { self.map = map }

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = problem(for: error, context: context)
            if problem.status.code < 500 {
                // Who is told a request id may ask what became of it.
                var about: Logger.Metadata = [
                    "status": .stringConvertible(problem.status.code), "code": .string(problem.code),
                    "route": .string(context.endpointPath ?? "none"),
                ]
                if let reason = problem.reason { about["reason"] = .string(reason) }
                context.logger.info("request refused", metadata: about)
            }
            return try problem.response(from: request, context: context)
        }
    }

    private func problem(for error: any Error, context: Context) -> HTTPProblem {
        // A handler that throws a problem itself means it; what is mapped came from below and is worth a look.
        if let problem = error as? HTTPProblem { return problem }
        if let problem = map(error) {
            if problem.status.code >= 500 {
                context.logger.error("request failed", metadata: ["error": .string(String(describing: error))])
            }
            return problem
        }
        if let known = error as? any HTTPResponseError, known.status.code < 500 {
            let code = known.status == .notFound ? "not_found" : "invalid_request"
            let message = known.status == .notFound ? "There is nothing at this address." : known.status.reasonPhrase
            return HTTPProblem(known.status, code: code, message: message)
        }
        context.logger.error("request failed", metadata: ["error": .string(String(describing: error))])
        return HTTPProblem(
            .internalServerError, code: "internal_error",
            message: "Something broke. The request id finds it in the log.")
    }
}
