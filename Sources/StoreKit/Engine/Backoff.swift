import Foundation

/// The delays before retries. They double from one second to one minute. Each delay is random in the upper half of its
/// range, so that devices that lost the store at the same time do not return at the same time.
package struct Backoff: Sendable {
    /// Returns a random number from 0 up to 1.
    let jitter: @Sendable () -> Double

    package init(jitter: @escaping @Sendable () -> Double) { self.jitter = jitter }

    /// The delay in seconds before the `attempt`th retry, counted from 1.
    package func delay(_ attempt: Int) -> Double {
        let whole = min(60, pow(2, Double(min(max(attempt, 1), 10) - 1)))
        return whole * (0.5 + 0.5 * min(max(jitter(), 0), 1))
    }
}

/// Calls a closure after a delay. Tests replace it, so that they need not wait.
protocol RetryTimer: Sendable {
    func after(seconds: Double, _ body: @escaping @Sendable () -> Void)
}

/// Waits in real time.
struct DispatchRetryTimer: RetryTimer {
    /// A factor for every delay.
    var pace = 1.0

    func after(seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds * pace, execute: body)
    }
}
