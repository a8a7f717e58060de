import Metrics
import Synchronization

/// A backend of swift-metrics that keeps all in memory and tells it in Prometheus' text form. Names and series are bounded: past the bound, the series of a
/// name are counted together under the label `other="true"`, and further names are dropped.
public final class PrometheusMetrics: MetricsFactory {
    /// Names at most.
    static let names = 256
    /// Series of one name at most, besides the one for all others.
    static let seriesOfOneName = 512

    private enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    private struct Series {
        var labels: [(String, String)]
        var cell: any MetricCell
    }

    private struct Family {
        var kind: Kind
        /// By the labels as they are written.
        var series: [String: Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    public init() {}

    /// All metrics as text, in the order of their names.
    public var text: String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (_, series) in family.series.sorted(by: { $0.key < $1.key }) {
                text += series.cell.lines(name, series.labels)
            }
        }
        return text
    }

    // MARK: MetricsFactory

    /// Named `…_total`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(label, "_total", .counter, dimensions) { CounterCell() }
    }

    /// Named `…_total`.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        cell(label, "_total", .counter, dimensions) { CounterCell() }
    }

    /// A gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, "", .gauge, dimensions) { GaugeCell() }
    }

    /// A histogram of amounts, or a gauge when the values are not to be added up.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return cell(label, "", .histogram, dimensions) { HistogramCell(HistogramCell.amounts) } }
        return cell(label, "", .gauge, dimensions) { GaugeCell() }
    }

    /// A histogram named `…_seconds`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, "_seconds", .histogram, dimensions) { HistogramCell(HistogramCell.seconds) }
    }

    // A series stays when its handler goes: what was counted was counted.

    /// Keeps what was counted.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Keeps what was counted.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    /// Keeps the last value.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Keeps what was recorded.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Keeps what was recorded.
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// The series' cell. The same name and labels always have the same one; a name that has another kind gets one that nobody reads.
    private func cell<Cell: MetricCell>(
        _ label: String, _ suffix: String, _ kind: Kind, _ labels: [(String, String)], _ make: () -> Cell
    ) -> Cell {
        var name = PrometheusText.name(label)
        if !name.hasSuffix(suffix) { name += suffix }
        let key = PrometheusText.labels(labels)
        return families.withLock { families in
            guard families[name] != nil || families.count < Self.names else { return make() }
            var family = families[name] ?? Family(kind: kind)
            guard family.kind == kind else { return make() }
            var (key, labels) = (key, labels)
            if family.series[key] == nil, family.series.count >= Self.seriesOfOneName {
                labels = [("other", "true")]
                key = PrometheusText.labels(labels)
            }
            if let series = family.series[key] { return series.cell as? Cell ?? make() }
            let cell = make()
            family.series[key] = Series(labels: labels, cell: cell)
            families[name] = family
            return cell
        }
    }
}
