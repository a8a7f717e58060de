import HTTPTypes
import Hummingbird
import Logging

/// Turns every error into a response. An ``HTTPProblem`` is sent as it is, and `map` converts the errors that it knows.
/// Any other error becomes a bare 500; only the log gets its detail, under the request's id. A browser that asks for a
/// page gets one if the server has pages.
public struct ProblemMiddleware<Context: RequestContext>: RouterMiddleware {
    private let map: @Sendable (any Error) -> HTTPProblem?
    private let page: (@Sendable (HTTPProblem) throws -> Response)?
    private let refused: (@Sendable (HTTPProblem, Request, Context) -> Void)?

    /// Creates the middleware.
    /// - Parameters:
    ///   - map: converts the server's own errors to HTTP; nil for an unknown error.
    ///   - page: makes the page about a problem for a browser.
    ///   - refused: called with each problem, for the operator's log.
    public init(
        _ map: @escaping @Sendable (any Error) -> HTTPProblem?,
        page: (@Sendable (HTTPProblem) throws -> Response)? = nil,
        refused: (@Sendable (HTTPProblem, Request, Context) -> Void)? = nil
    ) {
        (self.map, self.page, self.refused) = (map, page, refused)
    }

    /// Passes the request on, and answers its error if it fails.
    /// - Throws: an error when the answer itself cannot be made.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = problem(for: error, context: context)
            refused?(problem, request, context)
            if problem.status.code < 500 {
                // A client may report its request id, so log every refusal.
                var about: Logger.Metadata = [
                    "status": .stringConvertible(problem.status.code), "code": .string(problem.code),
                    "route": .string(context.endpointPath ?? "none"),
                ]
                if let reason = problem.reason { about["reason"] = .string(reason) }
                context.logger.info("request refused", metadata: about)
            }
            let response = try problem.response(from: request, context: context)
            // Only a browser that shows the answer to a person asks for HTML by its name.
            guard let page, request.headers[.accept]?.contains("text/html") == true else { return response }
            return problem.show(try page(problem), replacing: response, for: request)
        }
    }

    private func problem(for error: any Error, context: Context) -> HTTPProblem {
        // A handler throws an ``HTTPProblem`` deliberately. A mapped error of 500 or more came from below and is
        // logged.
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
            message: "The server failed to answer. Its log has the details under this request id.")
    }
}
