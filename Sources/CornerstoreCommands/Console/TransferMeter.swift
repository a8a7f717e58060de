/// Computes a transfer's progress: percentage, rate and remaining time.
struct TransferMeter: Sendable {
    /// The time span over which the rate is measured.
    private static let window = Duration.seconds(5)

    /// The size of the transfer in bytes.
    private(set) var total: Int64
    private(set) var done: Int64
    private var samples: [(at: Duration, bytes: Int64)] = []

    /// - Parameter done: the number of bytes that were already transferred. They do not count towards the rate.
    init(total: Int64, done: Int64) {
        self.total = total
        self.done = done
    }

    /// Records the number of transferred bytes.
    /// - Parameters:
    ///   - total: the size of the transfer, if it is known better now.
    ///   - time: the time since a fixed moment.
    mutating func note(_ bytes: Int64, of total: Int64? = nil, at time: Duration) {
        if let total { self.total = total }
        // A lower number means that the other side lost bytes, so the rate is measured anew.
        if bytes < done { samples = [] }
        done = bytes
        samples.append((time, bytes))
        while samples.count > 2, let first = samples.first, time - first.at > Self.window { samples.removeFirst() }
    }

    /// The rate in bytes per second; nil until 200 ms were measured.
    var rate: Double? {
        guard let first = samples.first, let last = samples.last, last.at - first.at >= .milliseconds(200) else {
            return nil
        }
        return Double(last.bytes - first.bytes) / ((last.at - first.at) / .seconds(1))
    }

    /// The remaining time in seconds; nil while the rate is unknown.
    var secondsLeft: Int? {
        guard let rate, rate > 0 else { return nil }
        let seconds = Double(total - done) / rate
        return seconds < 1_000_000 ? Int(seconds.rounded(.up)) : nil
    }

    var percent: Int { Int(fraction * 100) }

    /// The transferred part, from 0 to 1. A file can grow while it is transferred.
    private var fraction: Double { total > 0 ? min(Double(done) / Double(total), 1) : 1 }

    /// The progress as text, such as `45 %  123.4 MB of 273.0 MB  98.1 MB/s  2 s left`.
    var text: String {
        var parts = ["\(percent) %", "\(Self.size(done)) of \(Self.size(total))"]
        if let rate { parts.append("\(Self.size(Int64(rate)))/s") }
        if let secondsLeft, done < total { parts.append("\(Self.time(secondsLeft)) left") }
        return parts.joined(separator: "  ")
    }

    /// The progress bar, such as `[#########           ]`.
    var bar: String {
        let width = 24
        let filled = Int(fraction * Double(width))
        return "[" + String(repeating: "#", count: filled) + String(repeating: " ", count: width - filled) + "]"
    }

    /// Returns a size in decimal units, such as `1.5 GB`.
    static func size(_ bytes: Int64) -> String {
        let units = ["kB", "MB", "GB", "TB"]
        guard bytes >= 1000 else { return "\(bytes) bytes" }
        var value = Double(bytes) / 1000
        var unit = 0
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    static func time(_ seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        default: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        }
    }
}
