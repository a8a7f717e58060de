import HTTPSupport
import HTTPTypes
import Hummingbird
import Merchant
import MerchantWire
import ServiceLifecycle
import Synchronization

/// Whether the server is about to stop.
final class StopNotice: Sendable {
    private let given = Atomic(false)

    var isGiven: Bool { given.load(ordering: .relaxed) }

    func give() { given.store(true, ordering: .relaxed) }
}

/// Gives notice of a stop. It is the last service of its group, so a stop of the group begins with it.
struct StopAnnouncement: Service {
    let notice: StopNotice

    func run() async {
        try? await gracefulShutdown()
        notice.give()
    }
}

/// Answers whether the process runs, and whether it can serve requests.
struct HealthController: Sendable {
    let merchant: Merchant
    let stop: StopNotice

    private struct Body: Encodable {
        var status: String
    }

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.health) { _, _ in try .json(Body(status: "ok")) }
        router.add(.readiness) { [merchant, stop] _, context in
            guard !stop.isGiven else { throw MerchantError(.unavailable, "The server is stopping.") }
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
