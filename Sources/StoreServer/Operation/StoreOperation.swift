import HTTPSupport
import Hummingbird
import StoreWire

/// A server's answers to supervisors, load balancers and monitoring systems, on each of its ports.
struct StoreOperation: Sendable {
    let health: StoreHealth
    let metrics: StoreMetrics
    /// The number of this process of the store; nil for a store of one process.
    let node: Int?
    /// The other processes of the store, which have sheets, visits, uploads and feeds of their own.
    let others: OtherProcess
    /// This process among the others of the store; nil for a store of one process.
    let process: (@Sendable () -> ProcessState)?
    /// Whether the process has heard of all changes up to a few seconds ago, and its clock is right; nil for a store of
    /// one process.
    let isCurrent: (@Sendable () -> Bool)?

    /// Counts the requests, and names their environment in the log. Add it before all other middleware.
    /// - Parameter environment: the environment of the port; nil for the control port and the storefront.
    func addMetrics(to router: Router<StoreRequestContext>, environment: StoreEnvironment?) {
        router.add(middleware: metrics.requests)
        if let environment { router.add(middleware: EnvironmentMiddleware(environment: environment)) }
    }

    /// Answers whether the process works and is ready. Add it before what refuses requests.
    func addHealth(to router: Router<StoreRequestContext>) { HealthController(health: health).addRoutes(to: router) }

    /// Refuses requests to the routes that follow, while the process may have missed a change or its clock is wrong.
    func addGuard(to router: Router<StoreRequestContext>) {
        if let isCurrent { router.add(middleware: CurrentMiddleware(isCurrent: isCurrent)) }
    }
}

/// Adds the environment to each log line of a request.
private struct EnvironmentMiddleware: RouterMiddleware {
    typealias Context = StoreRequestContext

    let environment: StoreEnvironment

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.logger[metadataKey: "environment"] = "\(environment.name)"
        return try await next(request, context)
    }
}
