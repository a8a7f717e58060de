import Foundation

/// The speed of a transfer and an estimate of the time it still takes. It has no clock: times are seconds of any clock
/// that never goes backwards.
public struct TransferRate: Sendable, Equatable {
    /// The time constant in seconds by which the speed follows recent measurements.
    private static let memory = 5.0
    /// The shortest span, in seconds, that is long enough to measure the speed.
    private static let shortestSpan = 0.25

    /// The number of bytes in all.
    public let total: Int64
    /// The number of bytes that have arrived, including those of earlier attempts.
    public private(set) var done: Int64
    private var mark: (bytes: Int64, seconds: Double)
    private var smoothed: Double?

    /// Creates a rate for a transfer that starts at `done` of `total` bytes.
    public init(total: Int64, done: Int64, at seconds: Double) {
        self.total = total
        self.done = done
        mark = (done, seconds)
    }

    /// Records the number of bytes that have arrived by now. Record the same number again to show that nothing arrives.
    public mutating func advance(to done: Int64, at seconds: Double) {
        self.done = done
        let span = seconds - mark.seconds
        guard span >= Self.shortestSpan else { return }
        let current = Double(max(done - mark.bytes, 0)) / span
        let weight = 1 - exp(-span / Self.memory)
        smoothed = smoothed.map { $0 + weight * (current - $0) } ?? current
        mark = (done, seconds)
    }

    /// The speed in bytes per second; nil until it can be measured.
    public var bytesPerSecond: Double? { smoothed }

    /// The seconds until the last byte; nil while they cannot be estimated.
    public var timeRemaining: Double? {
        guard done < total else { return 0 }
        guard let smoothed, smoothed >= 1 else { return nil }
        return Double(total - done) / smoothed
    }

    /// The fraction of the bytes that has arrived, from 0 to 1.
    public var progress: Double { total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1 }

    /// Whether both rates have the same counts and the same measurements.
    public static func == (left: Self, right: Self) -> Bool {
        left.total == right.total && left.done == right.done && left.mark == right.mark
            && left.smoothed == right.smoothed
    }
}
