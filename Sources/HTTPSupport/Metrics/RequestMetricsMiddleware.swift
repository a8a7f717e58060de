import HTTPTypes
import Hummingbird
import Metrics
import Synchronization

/// Counts requests and their durations: `http_server_requests_total` by route, method and status, and
/// `http_server_request_duration_seconds` by route and method. Routes are those of the table, never request paths, so
/// that clients cannot create series. The middleware comes before the one that turns errors into responses.
public struct RequestMetricsMiddleware<Context: RequestContext>: RouterMiddleware {
    private let factory: any MetricsFactory
    private let known = Known()

    /// Creates the middleware.
    public init(_ factory: any MetricsFactory) { self.factory = factory }

    /// Passes the request on, and counts it with its response.
    /// - Throws: the error of `next`.
    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        count(request.method, route: context.endpointPath, response.status, after: start.duration(to: .now))
        return response
    }

    /// Counts one request, including one that was answered without the router.
    /// - Parameter route: the route's template in the table; nil when no route matched.
    public func count(
        _ method: HTTPRequest.Method, route: String?, _ status: HTTPResponse.Status, after duration: Duration
    ) {
        let endpoint = Endpoint(
            route: route ?? "none", method: countedMethods.contains(method) ? method.rawValue : "other")
        let (timer, counter) = known.handlers.withLock { known in
            if let handlers = known[endpoint], let counter = handlers.requests[status.code] {
                return (handlers.duration, counter)
            }
            let labels = [("route", endpoint.route), ("method", endpoint.method)]
            var handlers =
                known[endpoint]
                ?? Handlers(
                    duration: Timer(label: "http_server_request_duration", dimensions: labels, factory: factory))
            let counter =
                handlers.requests[status.code]
                ?? Counter(
                    label: "http_server_requests", dimensions: labels + [("status", String(status.code))],
                    factory: factory)
            handlers.requests[status.code] = counter
            known[endpoint] = handlers
            return (handlers.duration, counter)
        }
        timer.recordNanoseconds(duration.nanoseconds)
        counter.increment()
    }
}

// Outside of the generic type, whose nested types would cost each request a dictionary that is not specialized.

private struct Endpoint: Hashable {
    var route: String
    var method: String
}

private struct Handlers: Sendable {
    var duration: Metrics.Timer
    var requests: [Int: Counter] = [:]
}

private final class Known: Sendable {
    let handlers = Mutex<[Endpoint: Handlers]>([:])
}

/// The methods with series of their own.
private let countedMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

extension Duration {
    /// The duration in nanoseconds; the maximum for more than 200 years.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product &+ attoseconds / 1_000_000_000
    }
}
