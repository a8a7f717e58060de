import Database
import Logging
import ServiceLifecycle
import Store
import StoreWire

/// Renews and ends subscriptions when they are due by the stores' clocks.
struct SubscriptionSchedule: Service {
    let stores: [Store]
    /// The claims of the processes that share the stores; nil for stores of one process.
    let claims: Claims?
    let logger: Logger
    /// How long to wait after a failure, such as a payment processor that cannot be reached.
    private static let pause = Duration.seconds(60)
    /// How long to wait after an error of the database, which may be moving to another server.
    private static let databasePause = Duration.seconds(2)

    /// Creates the schedule, and lets the stores settle subscriptions under its claims.
    init(stores: [Store], claims: Claims? = nil, logger: Logger) {
        self.stores = stores
        self.claims = claims
        self.logger = logger
        if let claims { for store in stores { store.shareSchedule(claims) } }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var next = ContinuousClock.now
            /// The stores whose last attempt failed, and whether the database was the cause.
            var failing: [StoreEnvironment: Bool] = [:]
            // A process that ended too early may not have told the payment processor of a refund.
            for store in stores { await tellRefunds(of: store) }
            var seconds = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                seconds += 1
                if seconds.isMultiple(of: 60) { for store in stores { await tellRefunds(of: store) } }
                guard .now >= next, claims?.isCurrent ?? true else { continue }
                for store in stores {
                    do {
                        try await store.settleSubscriptionsOnSchedule()
                        if failing.removeValue(forKey: store.environment) != nil {
                            logger.notice(
                                "subscriptions are settled again",
                                metadata: ["environment": "\(store.environment.name)"])
                        }
                    } catch {
                        let isDatabase = error is DatabaseError
                        // Many attempts fail while the database is away.
                        if failing.updateValue(isDatabase, forKey: store.environment) != isDatabase {
                            logger.error(
                                "subscriptions not settled; due events wait",
                                metadata: [
                                    "environment": "\(store.environment.name)",
                                    "problem": "\((error as? StoreError)?.detail ?? "\(error)")",
                                ])
                        }
                        next = max(next, ContinuousClock.now + (isDatabase ? Self.databasePause : Self.pause))
                    }
                }
            }
        }
    }

    /// Tells the payment processor of refunds, unless another process does it. The processor takes a refund twice
    /// without effect.
    private func tellRefunds(of store: Store) async {
        guard let claims else { return await store.tellRefunds() }
        let name = "\(store.environment.name).refunds"
        guard (try? await claims.take(name, seconds: 60)) ?? false else { return }
        await store.tellRefunds()
        await claims.release(name)
    }
}
