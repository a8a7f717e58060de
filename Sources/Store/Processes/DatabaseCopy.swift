import Database
import Synchronization

/// A copy in memory of rows that this and other processes change.
///
/// Transactions can end here in another order than in the database. So the result of a transaction replaces the copy
/// only if nothing else did since the transaction began and no read of the rows is under way; otherwise the rows are
/// read again. One read at a time runs, and one that begins after a change is enough for all who wait.
final class DatabaseCopy<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        /// How often the value was replaced.
        var replacements = 0
        /// How often a read of the rows was asked for.
        var asked = 0
        /// How many of these a read has answered.
        var answered = 0
        /// How many callers wait for a read.
        var waiting = 0
    }

    private let state: Mutex<State>
    private let reads = SerialTasks()

    init(_ value: Value) { state = Mutex(State(value: value)) }

    /// The copy.
    var value: Value { state.withLock { $0.value } }

    /// How many callers wait for a read of the rows.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Changes the copy alone.
    func update(_ change: (inout Value) -> Void) {
        state.withLock {
            change(&$0.value)
            $0.replacements += 1
        }
    }

    /// Reads the rows again.
    /// - Throws: ``DatabaseError``; the errors of `load`.
    func reload(from database: Database, _ load: @escaping @Sendable (Connection) throws -> Value) async throws {
        let number = state.withLock {
            $0.asked += 1
            $0.waiting += 1
            return $0.asked
        }
        defer { state.withLock { $0.waiting -= 1 } }
        try await reads.run { [self] in
            while state.withLock({ $0.answered < number }) {
                let (asked, replacements) = state.withLock { ($0.asked, $0.replacements) }
                let value = try await database.read(load)
                state.withLock {
                    // Only a change of the copy alone can come in between.
                    guard $0.replacements == replacements else { return }
                    $0.value = value
                    $0.replacements += 1
                    $0.answered = asked
                }
            }
        }
    }

    /// Changes the rows, and copies what the same transaction reads afterwards.
    /// - Parameters:
    ///   - load: reads the rows.
    ///   - body: changes the rows. It can run more than once.
    /// - Throws: ``DatabaseError``; the errors of `load` and `body`.
    @discardableResult
    func write<T: Sendable>(
        to database: Database, load: @escaping @Sendable (Connection) throws -> Value,
        _ body: @escaping @Sendable (Connection) throws -> T
    ) async throws -> T {
        let replacements = state.withLock { $0.replacements }
        let (result, value) = try await database.write { connection -> (T, Value) in
            let result = try body(connection)
            return (result, try load(connection))
        }
        let isCopied = state.withLock {
            guard $0.replacements == replacements, $0.waiting == 0 else { return false }
            $0.value = value
            $0.replacements += 1
            return true
        }
        if !isCopied { try await reload(from: database, load) }
        return result
    }
}
