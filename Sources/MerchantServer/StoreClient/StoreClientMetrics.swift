import Metrics

/// Counts requests to the store: `merchant_store_requests_total`, by host and outcome.
public struct StoreClientMetrics: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        /// The receipt is good, or of the other environment.
        case answered
        /// The receipt is refused.
        case rejected
        /// The store does not take the merchant's shared secret, or its request.
        case misconfigured
        /// No answer, or none that says anything.
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

    func count(_ host: StoreClient.Host, by verdict: StoreAnswer.Verdict) {
        switch verdict {
        case .answered: count(host, .answered)
        case .rejected: count(host, .rejected)
        case .misconfigured: count(host, .misconfigured)
        case .unexplained: count(host, .failed)
        }
    }

    func count(_ host: StoreClient.Host, _ outcome: Outcome) { counters[host]?[outcome]?.increment() }
}
