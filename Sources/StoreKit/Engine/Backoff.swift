import Foundation

/// How long to wait before trying again: doubling from one second to a minute, each spread over its upper half so
/// that devices that lost the store together do not come back together.
package struct Backoff: Sendable {
    /// A number from 0 up to 1.
    let jitter: @Sendable () -> Double

    package init(jitter: @escaping @Sendable () -> Double) { self.jitter = jitter }

    /// The delay in seconds before the `attempt`th retry, counted from 1.
    package func delay(_ attempt: Int) -> Double {
        let whole = min(60, pow(2, Double(min(max(attempt, 1), 10) - 1)))
        return whole * (0.5 + 0.5 * min(max(jitter(), 0), 1))
    }
}

/// Calls back later. A boundary, so that tests need not wait.
protocol RetryTimer: Sendable {
    func after(seconds: Double, _ body: @escaping @Sendable () -> Void)
}

/// Waits in real time.
struct DispatchRetryTimer: RetryTimer {
    /// What every delay is multiplied by.
    var pace = 1.0

    func after(seconds: Double, _ body: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds * pace, execute: body)
    }
}
