import Metrics

/// Counts requests to the store by host and outcome: `merchant_store_requests_total`.
public struct StoreClientMetrics: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        /// The receipt is valid, or belongs to the other environment.
        case answered
        /// The store refused the receipt.
        case rejected
        /// The store rejected the merchant's shared secret or its request.
        case misconfigured
        /// There was no answer, or one without a meaning.
        case failed
        /// The request was not sent, since the circuit breaker was open.
        case refused
    }

    private let counters: [StoreClient.Host: [Outcome: Counter]]

    /// Creates the counters in a metrics backend.
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
