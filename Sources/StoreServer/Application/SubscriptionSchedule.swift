import Logging
import ServiceLifecycle
import Store

/// Renews and ends subscriptions when they are due by the stores' clocks.
struct SubscriptionSchedule: Service {
    let stores: [Store]
    let logger: Logger
    /// How long to wait after a failure, such as a payment processor that cannot be reached.
    var pause = Duration.seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var next = ContinuousClock.now
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard .now >= next else { continue }
                for store in stores {
                    do {
                        try await store.settleSubscriptions()
                    } catch {
                        logger.error(
                            "subscriptions not settled, what is due stays due",
                            metadata: [
                                "environment": "\(store.environment.name)",
                                "problem": "\((error as? StoreError)?.detail ?? "\(error)")",
                            ])
                        next = .now + pause
                    }
                }
            }
        }
    }
}
