import Foundation
import Synchronization

@testable import MerchantServer

/// Time that stands still until it is moved, or until somebody sleeps: then it jumps to the end of the sleep.
final class ManualPacing: Sendable {
    private struct State {
        var now: Date
        var slept: [Duration] = []
    }

    private let state: Mutex<State>

    init(_ now: Date = Date(timeIntervalSince1970: 1_790_000_000)) { state = Mutex(State(now: now)) }

    var now: Date { state.withLock { $0.now } }
    /// All sleeps so far.
    var slept: [Duration] { state.withLock { $0.slept } }

    func advance(by seconds: TimeInterval) { state.withLock { $0.now += seconds } }

    /// - Parameter random: what chance always gives.
    func pacing(random: Double = 0.5) -> Pacing {
        Pacing(
            now: { self.now },
            sleep: { duration in
                try Task.checkCancellation()
                let (seconds, attoseconds) = duration.components
                self.state.withLock { state in
                    state.slept.append(duration)
                    state.now += Double(seconds) + Double(attoseconds) / 1e18
                }
            },
            random: { random })
    }

    /// A pacing whose sleeps last until the task is cancelled.
    func pacingWithoutEnd() -> Pacing {
        var pacing = self.pacing()
        pacing.sleep = { _ in
            let (silence, end) = AsyncStream.makeStream(of: Void.self)
            for await _ in silence {}
            end.finish()
            throw CancellationError()
        }
        return pacing
    }
}
