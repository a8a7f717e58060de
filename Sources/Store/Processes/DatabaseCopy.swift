import Database
import Synchronization

/// A copy in memory of rows that this and other processes change.
///
/// Transactions can end here in another order than in the database. So the result of a transaction replaces the copy
/// only if nothing else did since the transaction began; otherwise the rows are read again.
final class DatabaseCopy<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        /// How often the value was replaced.
        var replacements = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    /// The copy.
    var value: Value { state.withLock { $0.value } }

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
        while true {
            let replacements = replacements
            let value = try await database.read(load)
            if replace(with: value, unlessReplacedSince: replacements) { return }
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
        let replacements = replacements
        let (result, value) = try await database.write { connection -> (T, Value) in
            let result = try body(connection)
            return (result, try load(connection))
        }
        if !replace(with: value, unlessReplacedSince: replacements) { try await reload(from: database, load) }
        return result
    }

    private var replacements: Int { state.withLock { $0.replacements } }

    private func replace(with value: Value, unlessReplacedSince replacements: Int) -> Bool {
        state.withLock {
            guard $0.replacements == replacements else { return false }
            $0.value = value
            $0.replacements += 1
            return true
        }
    }
}
