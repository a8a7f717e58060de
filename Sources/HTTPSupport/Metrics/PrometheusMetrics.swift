public import Metrics
import Synchronization

/// A backend of swift-metrics that keeps all metrics in memory and writes them in Prometheus' text format. The numbers
/// of names and series are bounded: further series of a name are counted together under the label `other="true"`, and
/// further names are dropped.
public final class PrometheusMetrics: MetricsFactory {
    /// The largest number of names.
    static let names = 256
    /// The largest number of series of one name, besides the one for all others.
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
        /// The series by their labels as text.
        var series: [String: Series] = [:]
    }

    private let families = Mutex<[String: Family]>([:])

    /// Creates an empty backend.
    public init() {}

    /// All metrics in Prometheus' text format, sorted by name.
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

    /// Makes a counter named `…_total`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(label, "_total", .counter, dimensions) { CounterCell() }
    }

    /// Makes a counter named `…_total`.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        cell(label, "_total", .counter, dimensions) { CounterCell() }
    }

    /// Makes a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, "", .gauge, dimensions) { GaugeCell() }
    }

    /// Makes a histogram of amounts; a gauge when the values are not aggregated.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return cell(label, "", .histogram, dimensions) { HistogramCell(HistogramCell.amounts) } }
        return cell(label, "", .gauge, dimensions) { GaugeCell() }
    }

    /// Makes a histogram named `…_seconds`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, "_seconds", .histogram, dimensions) { HistogramCell(HistogramCell.seconds) }
    }

    // A series outlives its handler, so that nothing counted is lost.

    /// Does nothing: the count is kept.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing: the count is kept.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    /// Does nothing: the last value is kept.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing: the recorded values are kept.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing: the recorded values are kept.
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// The series' cell. Equal names and labels share one cell. A name that is already used for another kind gets a
    /// cell that is never written out.
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
