import Foundation

/// Time and chance for what tries again.
public struct Pacing: Sendable {
    public var now: @Sendable () -> Date
    /// Waits; throws `CancellationError` when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// From 0 up to 1, without it.
    public var random: @Sendable () -> Double

    public init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
    }

    /// The machine's.
    public static func system() -> Pacing {
        Pacing(now: { Date() }, sleep: { try await Task.sleep(for: $0) }, random: { Double.random(in: 0..<1) })
    }
}

/// Pauses between attempts: each at most twice as long as the one before, and of random length up to that, so that many who failed together do not come
/// back together.
struct Backoff: Sendable, Equatable {
    /// Seconds.
    var first: Double
    /// Seconds.
    var longest: Double

    /// The pause after so many attempts failed (1 for the first), in seconds: at least half of what it is at most.
    func pause(after attempts: Int, random: Double) -> Double {
        let most = min(longest, first * Double(1 << min(max(attempts - 1, 0), 32)))
        return most / 2 + most / 2 * random
    }
}
