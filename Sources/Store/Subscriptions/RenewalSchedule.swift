import Synchronization

/// When the store has to do something for a subscription next, so that requests need not ask the database.
final class RenewalSchedule: Sendable {
    private struct State {
        /// No later than the earliest due date.
        var next: Int64 = .min
        /// Counts the dates that were added.
        var additions = 0
        var claims: Claims?
    }

    private let state = Mutex(State())
    /// Runs the settlements of due subscriptions one after the other.
    let line = SerialTasks()

    /// The claims of the processes that share the store; nil for a store of one process.
    var claims: Claims? {
        get { state.withLock { $0.claims } }
        set { state.withLock { $0.claims = newValue } }
    }

    /// Whether something may be due at a date.
    func mayBeDue(at date: Int64) -> Bool { state.withLock { $0.next <= date } }

    /// Adds the due date of a subscription.
    func add(_ date: Int64?) {
        guard let date else { return }
        state.withLock {
            $0.next = min($0.next, date)
            $0.additions += 1
        }
    }

    /// Replaces the earliest due date by the one that `ask` finds in the database. A date that is added meanwhile
    /// counts as well.
    func update(_ ask: () async throws -> Int64?) async rethrows {
        let additions = state.withLock { $0.additions }
        let found = try await ask() ?? .max
        state.withLock { $0.next = $0.additions == additions ? found : min($0.next, found) }
    }
}
