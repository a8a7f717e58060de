import Foundation

/// How fast the bytes of a transfer come, and how long the rest will take. It holds no clock: times are seconds of any clock
/// that only goes forward.
public struct TransferRate: Sendable, Equatable {
    /// The speed follows the last seconds, of which this is the measure.
    private static let memory = 5.0
    /// A shorter span says nothing of the speed.
    private static let shortestSpan = 0.25

    /// How many bytes there are in all.
    public let total: Int64
    /// How many have come, those of earlier attempts included.
    public private(set) var done: Int64
    private var mark: (bytes: Int64, seconds: Double)
    private var smoothed: Double?

    /// Begins at `done` bytes of `total`.
    public init(total: Int64, done: Int64, at seconds: Double) {
        self.total = total
        self.done = done
        mark = (done, seconds)
    }

    /// Takes in how many bytes have come by now. Told the same number again, it notices that nothing comes.
    public mutating func advance(to done: Int64, at seconds: Double) {
        self.done = done
        let span = seconds - mark.seconds
        guard span >= Self.shortestSpan else { return }
        let current = Double(max(done - mark.bytes, 0)) / span
        let weight = 1 - exp(-span / Self.memory)
        smoothed = smoothed.map { $0 + weight * (current - $0) } ?? current
        mark = (done, seconds)
    }

    /// Bytes a second; nil until it can be told.
    public var bytesPerSecond: Double? { smoothed }

    /// Seconds until the last byte; nil while it cannot be told.
    public var timeRemaining: Double? {
        guard done < total else { return 0 }
        guard let smoothed, smoothed >= 1 else { return nil }
        return Double(total - done) / smoothed
    }

    /// From 0 to 1.
    public var progress: Double { total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1 }

    public static func == (left: Self, right: Self) -> Bool {
        left.total == right.total && left.done == right.done && left.mark == right.mark
            && left.smoothed == right.smoothed
    }
}
