import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire

/// Answers whether the process runs, and whether it can serve requests.
struct HealthController: Sendable {
    let merchant: Merchant

    private struct Body: Encodable {
        var status: String
    }

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.health) { _, _ in try .json(Body(status: "ok")) }
        router.add(.readiness) { [merchant] _, context in
            do {
                try await merchant.check()
            } catch {
                context.logger.warning("not ready", metadata: ["error": .string(String(describing: error))])
                throw MerchantError(.unavailable, "The database is unavailable.")
            }
            return try .json(Body(status: "ready"))
        }
    }
}
