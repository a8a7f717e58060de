import Synchronization

/// A value that the process keeps in memory, and reads from the database again when another process has changed it.
///
/// A read during which the value changed is repeated, so that an older state never replaces a newer one.
final class KeptValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        /// How many times the value has changed.
        var changes = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    /// The value now.
    var value: Value { state.withLock { $0.value } }

    /// Looks at the value without a copy.
    func read<T: Sendable>(_ body: (Value) -> T) -> T { state.withLock { body($0.value) } }

    /// Changes the value after the same change of the database.
    func change(_ body: (inout Value) -> Void) {
        state.withLock { state in
            body(&state.value)
            state.changes += 1
        }
    }

    /// Reads the value again.
    /// - Parameter read: reads the committed state. It runs again when the value has changed meanwhile.
    /// - Throws: the error of `read`. The value stays then.
    func reload(_ read: @Sendable () async throws -> Value) async throws {
        while true {
            let changes = state.withLock { $0.changes }
            let new = try await read()
            let isNewest = state.withLock { state in
                guard state.changes == changes else { return false }
                state.value = new
                state.changes += 1
                return true
            }
            if isNewest { return }
        }
    }
}
