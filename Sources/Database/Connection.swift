/// What an engine does with a statement inside an open transaction.
protocol StatementSession: AnyObject {
    /// The rows of the answer; none for a statement that has none.
    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row]
    /// The number of rows changed; 0 for a statement that changes none.
    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int
    /// Makes statements that still run at that moment fail as `busy`; nil lets them run. An engine whose server bounds
    /// each statement need not do it.
    func endStatements(at deadline: ContinuousClock.Instant?)
}

/// An open transaction, handed to the closure of ``Database/write(_:)`` or ``Database/read(_:)`` and valid only inside
/// it.
///
/// A statement that fails fails the whole transaction, on both engines: later statements repeat its error, and nothing
/// is committed even if the closure catches it. To allow for a row that may exist already, use `ON CONFLICT … DO
/// NOTHING` or a `WHERE`; do not catch the violation. A change that takes longer than 30 seconds fails in the same
/// way, with ``DatabaseError/Code/busy``: others wait for the writer or the connection.
public final class Connection {
    private let session: any StatementSession
    private let now: () -> ContinuousClock.Instant
    private let longest: Duration?
    /// When the transaction is given up; nil for one that may take any time.
    private let deadline: ContinuousClock.Instant?
    private var hasEnded = false
    /// The first statement's failure, if one failed.
    private(set) var failure: DatabaseError?
    /// Whether the transaction was given up because it took too long.
    private(set) var isOverdue = false

    /// - Parameters:
    ///   - longest: how long the transaction may take from here to its commit; nil for reads, which hold nobody up, and
    ///     for migrations.
    ///   - now: the machine's clock.
    init(
        _ session: any StatementSession, longest: Duration?, now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.session = session
        self.now = now
        self.longest = longest
        deadline = longest.map { now() + $0 }
        session.endStatements(at: deadline)
    }

    /// Runs a statement and gives all rows of its answer, those of a `RETURNING` too.
    ///
    /// - Parameters:
    ///   - sql: one statement, the same for both engines, with placeholders `$1`, `$2`….
    ///   - arguments: as many as the highest placeholder.
    /// - Throws: ``DatabaseError``.
    public func query(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> [Row] {
        try perform { () throws(DatabaseError) in try session.query(sql, arguments) }
    }

    /// Runs a statement and gives the first row of its answer, or nil if there is none.
    ///
    /// - Throws: ``DatabaseError``.
    public func queryOne(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> Row? {
        try query(sql, arguments).first
    }

    /// Runs a statement and gives the number of rows it inserted, updated or deleted.
    ///
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func execute(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> Int {
        try perform { () throws(DatabaseError) in try session.execute(sql, arguments) }
    }

    /// Makes later use an error; called when the closure has returned.
    func end() {
        hasEnded = true
        session.endStatements(at: nil)
    }

    /// Throws unless the transaction may be committed: a failure that the closure has caught, or that the transaction
    /// took too long.
    func checkMayCommit() throws(DatabaseError) {
        if let failure = failure ?? lateness() { throw failure }
    }

    /// The error of a transaction that takes too long, if this one does.
    private func lateness() -> DatabaseError? {
        guard let longest, let deadline, now() >= deadline else { return nil }
        isOverdue = true
        return DatabaseError(.busy, "the transaction took over \(longest), and was given up; try again later")
    }

    private func perform<T>(_ statement: () throws(DatabaseError) -> T) throws(DatabaseError) -> T {
        if hasEnded {
            throw DatabaseError(.closed, "the connection was used after its transaction had ended")
        }
        if let failure = failure ?? lateness() {
            self.failure = failure
            throw failure
        }
        do throws(DatabaseError) {
            return try statement()
        } catch {
            // The engine ends the statement that runs at the deadline.
            let failure = error.code == .busy ? lateness() ?? error : error
            self.failure = failure
            throw failure
        }
    }
}

@available(*, unavailable)
extension Connection: Sendable {}

extension SQLText {
    /// Both engines count arguments differently when they disagree with the text; this says it the same way for both.
    func check(argumentCount: Int) throws(DatabaseError) {
        guard argumentCount == placeholders else {
            throw Self.wrongCount(placeholders: placeholders, arguments: argumentCount)
        }
    }

    static func wrongCount(placeholders: Int, arguments: Int) -> DatabaseError {
        DatabaseError(.invalidSQL, "the statement takes \(placeholders) arguments, and \(arguments) were given")
    }
}
