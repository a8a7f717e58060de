import Foundation

/// The clock and the random numbers for code that retries.
public struct Pacing: Sendable {
    /// The current time.
    public var now: @Sendable () -> Date
    /// Waits; throws `CancellationError` when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// A random number from 0 up to, but not including, 1.
    public var random: @Sendable () -> Double

    /// Creates a pacing.
    public init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
    }

    /// The machine's clock and random numbers.
    public static func system() -> Pacing {
        Pacing(now: { Date() }, sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0..<1) })
    }
}

/// The pauses between attempts: each at most twice as long as the one before, with a random length up to that, so that
/// clients that failed together do not retry together.
struct Backoff: Sendable, Equatable {
    /// The longest first pause, in seconds.
    var first: Double
    /// The longest pause of all, in seconds.
    var longest: Double

    /// The pause after a number of failed attempts (1 for the first), in seconds. It is at least half of its maximum.
    func pause(after attempts: Int, random: Double) -> Double {
        let most = min(longest, first * Double(1 << min(max(attempts - 1, 0), 32)))
        return most / 2 + most / 2 * random
    }
}
