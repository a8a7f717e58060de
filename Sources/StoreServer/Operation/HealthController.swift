import ControlWire
import HTTPSupport
import HTTPTypes
import Hummingbird

/// Answers whether the process works, and whether it can serve requests. Neither address needs a token, because load
/// balancers have none; the answers name no more than a reason.
struct HealthController: Sendable {
    let health: StoreHealth

    private struct Body: Encodable {
        var status: String
        var reason: String?
    }

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.health) { _, _ -> Response in
            try Response.json(Body(status: "ok")).uncached
        }
        router.on(.readiness) { [health] _, _ -> Response in
            guard let problem = await health.problem() else {
                return try Response.json(Body(status: "ready")).uncached
            }
            var response = try Response.json(
                Body(status: "not ready", reason: problem.rawValue), status: .serviceUnavailable)
            response.headers[.retryAfter] = "1"
            return response.uncached
        }
    }
}
