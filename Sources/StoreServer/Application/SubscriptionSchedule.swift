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
            // A process that ended too early may not have told the payment processor of a refund.
            for store in stores { await store.tellRefunds() }
            var seconds = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                seconds += 1
                if seconds.isMultiple(of: 60) { for store in stores { await store.tellRefunds() } }
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
