import HTTPSupport
import Metrics
import Store
import StoreWire
import Synchronization

/// The server's metrics for `GET /metrics`: counters of what it did since its start, and the state of this moment.
final class StoreMetrics: Sendable {
    /// The state of an environment's database.
    struct DatabaseState: Sendable {
        /// The number of transactions that wait for a connection.
        var waiting: Int
        /// The number of transactions that were repeated since the start, because another one changed the same rows.
        var repeated: Int
    }

    private struct Verification: Hashable {
        var environment: StoreEnvironment
        var status: Int
    }

    private let registry = PrometheusMetrics()
    /// Counts the requests that the routers answer; the direct path counts its own with it.
    let requests: RequestMetricsMiddleware<StoreRequestContext>
    private let purchases: [StoreEnvironment: [PurchaseResponse.State: Counter]]
    private let verifications = Mutex<[Verification: Counter]>([:])
    private let databases: @Sendable () -> [StoreEnvironment: DatabaseState]
    private let process: (@Sendable () -> ProcessState)?
    /// The repeated transactions that the counters have already.
    private let repeated = Mutex<[StoreEnvironment: Int]>([:])

    /// - Parameters:
    ///   - databases: the state of the databases now.
    ///   - process: this process among the others of the store; nil for a store of one process.
    init(
        databases: @escaping @Sendable () -> [StoreEnvironment: DatabaseState],
        process: (@Sendable () -> ProcessState)?
    ) {
        self.databases = databases
        self.process = process
        let registry = registry
        requests = RequestMetricsMiddleware(registry)
        purchases = Dictionary(
            uniqueKeysWithValues: StoreEnvironment.allCases.map {
                environment -> (StoreEnvironment, [PurchaseResponse.State: Counter]) in
                let counters = PurchaseResponse.State.allCases.map { state in
                    (
                        state,
                        Counter(
                            label: "store_purchases",
                            dimensions: [("environment", environment.name), ("state", state.rawValue)],
                            factory: registry)
                    )
                }
                return (environment, Dictionary(uniqueKeysWithValues: counters))
            })
    }

    /// Counts a purchase request that was answered: `store_purchases_total`. A repeated request counts again.
    func purchased(_ state: PurchaseResponse.State, in environment: StoreEnvironment) {
        purchases[environment]?[state]?.increment()
    }

    /// Counts a `verifyReceipt` request: `store_verify_receipt_total`.
    func verified(_ status: Int, in environment: StoreEnvironment) {
        let verification = Verification(environment: environment, status: status)
        let counter = verifications.withLock { known in
            if let counter = known[verification] { return counter }
            let counter = Counter(
                label: "store_verify_receipt",
                dimensions: [("environment", environment.name), ("status", String(status))], factory: registry)
            known[verification] = counter
            return counter
        }
        counter.increment()
    }

    /// Counts an attempt to send a notification: `store_notifications_total`.
    func notified(_ result: SendAttemptResult) {
        Counter(
            label: "store_notifications", dimensions: [("outcome", result.rawValue.lowercased())], factory: registry
        ).increment()
    }

    /// All metrics in Prometheus' text format.
    var text: String {
        for (environment, state) in databases() { take(state, of: environment) }
        if let process = process?() {
            let age = process.membership.heardAge.components
            Meter(label: "store_process_heard_age_seconds", factory: registry)
                .set(Double(age.seconds) + Double(age.attoseconds) / 1e18)
            Meter(label: "store_process_clock_offset_seconds", factory: registry)
                .set(Double(process.membership.clockOffset) / 1_000)
            Meter(label: "store_processes", factory: registry).set(process.others.count + 1)
        }
        return registry.text
    }

    private func take(_ state: DatabaseState, of environment: StoreEnvironment) {
        let labels = [("environment", environment.name)]
        Meter(label: "database_queue_waiting", dimensions: labels, factory: registry).set(state.waiting)
        let new = repeated.withLock { repeated in
            let new = state.repeated - (repeated[environment] ?? 0)
            repeated[environment] = max(state.repeated, repeated[environment] ?? 0)
            return new
        }
        // Also zero, so that the series exists from the start.
        Counter(label: "database_transactions_repeated", dimensions: labels, factory: registry)
            .increment(by: max(new, 0))
    }
}
