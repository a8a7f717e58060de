import Metrics
import Synchronization

/// The values of one series. Each cell is also a handler of swift-metrics.
protocol MetricCell: AnyObject, Sendable {
    /// The lines of the series in Prometheus' text format, without `# TYPE`.
    func lines(_ name: String, _ labels: [(String, String)]) -> String
}

/// A counter, which only increases.
final class CounterCell: MetricCell, CounterHandler, FloatingPointCounterHandler {
    private let value = Mutex(0.0)

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        value.withLock { $0 += amount }
    }

    func reset() { value.withLock { $0 = 0 } }

    func lines(_ name: String, _ labels: [(String, String)]) -> String {
        "\(name)\(PrometheusText.labels(labels)) \(PrometheusText.number(value.withLock { $0 }))\n"
    }
}

/// A gauge, which goes up and down.
final class GaugeCell: MetricCell, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func set(_ new: Int64) { set(Double(new)) }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ new: Int64) { set(Double(new)) }
    func record(_ new: Double) { set(new) }

    func lines(_ name: String, _ labels: [(String, String)]) -> String {
        "\(name)\(PrometheusText.labels(labels)) \(PrometheusText.number(value.withLock { $0 }))\n"
    }
}

/// A histogram: the number of values at or below each bound.
final class HistogramCell: MetricCell, RecorderHandler, TimerHandler {
    /// Bounds in seconds, from a remembered answer up to a request that reached its time limit.
    static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    /// Bounds for counts and sizes.
    static let amounts = [1.0, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 100_000, 1_000_000, 10_000_000]

    private struct State {
        /// One count for each bound, and one for the values above all bounds.
        var counts: [Int64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    /// - Parameter bounds: in rising order.
    init(_ bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    /// Records a duration in seconds, the unit that Prometheus expects.
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func lines(_ name: String, _ labels: [(String, String)]) -> String {
        let state = state.withLock { $0 }
        var text = ""
        var total: Int64 = 0
        for (index, count) in state.counts.enumerated() {
            total += count
            let bound = index < bounds.count ? PrometheusText.number(bounds[index]) : "+Inf"
            text += "\(name)_bucket\(PrometheusText.labels(labels + [("le", bound)])) \(total)\n"
        }
        let all = PrometheusText.labels(labels)
        return text + "\(name)_sum\(all) \(PrometheusText.number(state.sum))\n\(name)_count\(all) \(total)\n"
    }
}
