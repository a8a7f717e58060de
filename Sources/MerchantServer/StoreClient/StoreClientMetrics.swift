import Metrics

/// Counts requests to the store: `merchant_store_requests_total`, by host and outcome.
public struct StoreClientMetrics: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        case answered
        case failed
        /// Not made, since the circuit was open.
        case refused
    }

    private let counters: [StoreClient.Host: [Outcome: Counter]]

    public init(_ factory: any MetricsFactory) {
        var counters: [StoreClient.Host: [Outcome: Counter]] = [:]
        for host in StoreClient.Host.allCases {
            for outcome in Outcome.allCases {
                counters[host, default: [:]][outcome] = Counter(
                    label: "merchant_store_requests",
                    dimensions: [("host", host.rawValue), ("outcome", outcome.rawValue)],
                    factory: factory)
            }
        }
        self.counters = counters
    }

    func count(_ host: StoreClient.Host, _ outcome: Outcome) { counters[host]?[outcome]?.increment() }
}
