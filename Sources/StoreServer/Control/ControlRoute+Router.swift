import ControlWire
import HTTPSupport
import HTTPTypes
import Hummingbird
import StoreWire

extension Router where Context == StoreRequestContext {
    /// Registers a handler at a route of the control port's table.
    func on(
        _ route: ControlRoute, use handler: @escaping @Sendable (Request, StoreRequestContext) async throws -> Response
    ) {
        on(RouterPath(route.template), method: HTTPRequest.Method(route.method), use: handler)
    }

    /// Registers a route of one environment for both.
    /// - Parameter parts: what the handler gets of the environment that the path names, such as its store.
    func on<Part: Sendable>(
        _ route: ControlRoute, of parts: [StoreEnvironment: Part],
        use handler: @escaping @Sendable (Part, Request, StoreRequestContext) async throws -> Response
    ) {
        on(route) { request, context in
            guard let environment = context.parameter(.environment).flatMap(StoreEnvironment.init(name:)),
                let part = parts[environment]
            else {
                throw HTTPProblem(
                    .notFound, code: "not_found", message: "The environments are “sandbox” and “production”.")
            }
            return try await handler(part, request, context)
        }
    }
}

extension Request {
    /// The value of a query parameter; nil when the query does not contain it.
    func query(_ parameter: ControlRoute.Parameter) -> String? {
        uri.queryParameters[parameter.rawValue[...]].map { String($0) }
    }
}

extension StoreRequestContext {
    /// The value of a parameter in the path; nil when the route has no such parameter.
    func parameter(_ parameter: ControlRoute.Parameter) -> String? { parameters.get(parameter.rawValue) }
}
