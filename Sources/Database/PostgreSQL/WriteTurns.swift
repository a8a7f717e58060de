import Foundation

/// Lets a transaction that lost to others several times run alone among the writes of this process, so that it cannot
/// lose again. Otherwise a long transaction could lose to short ones for as long as they come.
///
/// @unchecked: the condition guards the other properties.
final class WriteTurns: @unchecked Sendable {
    /// The failures of one transaction after which it runs alone.
    static let mostFailures = 4

    private let condition = NSCondition()
    private var running = 0
    private var isTaken = false
    private var waitingAlone = 0
    private var waitingBeside = 0

    /// The number of callers that wait for their turn.
    var waiting: Int {
        condition.lock()
        defer { condition.unlock() }
        return waitingAlone + waitingBeside
    }

    /// Runs `body` beside others, or, with `alone`, while no other one runs. Blocks until the turn comes. A caller
    /// that waits to run alone comes before those that would run beside others.
    func run<Result>(alone: Bool, _ body: () throws -> Result) rethrows -> Result {
        begin(alone: alone)
        defer { end(alone: alone) }
        return try body()
    }

    private func begin(alone: Bool) {
        condition.lock()
        if alone {
            waitingAlone += 1
            while isTaken || running > 0 { condition.wait() }
            waitingAlone -= 1
            isTaken = true
        } else {
            waitingBeside += 1
            while isTaken || waitingAlone > 0 { condition.wait() }
            waitingBeside -= 1
            running += 1
        }
        condition.unlock()
    }

    private func end(alone: Bool) {
        condition.lock()
        if alone { isTaken = false } else { running -= 1 }
        condition.broadcast()
        condition.unlock()
    }
}
