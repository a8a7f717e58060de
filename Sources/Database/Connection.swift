/// Runs statements of one engine inside an open transaction.
protocol StatementSession: AnyObject {
    /// Runs a statement and returns its rows; empty for a statement without rows.
    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row]
    /// Runs a statement and returns the number of rows changed; 0 for a statement that changes no rows.
    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int
}

/// An open transaction, handed to the closure of ``Database/write(_:)`` or ``Database/read(_:)`` and valid only inside
/// it.
///
/// A failed statement makes the whole transaction fail, on both engines. Later statements repeat its error, and nothing
/// is committed even if the closure catches the error. If a row may exist already, use `ON CONFLICT … DO NOTHING` or a
/// `WHERE`; do not catch the violation. A write that takes longer than ``longest`` fails in the same way, with
/// ``DatabaseError/Code/busy``.
public final class Connection {
    /// The longest time from the beginning of a write transaction to the beginning of its last statement. Meanwhile
    /// other transactions wait for the writer or the connection.
    static let longest = Duration.seconds(30)

    private let session: any StatementSession
    private let now: () -> ContinuousClock.Instant
    /// The time after which statements fail; nil for a transaction without a limit.
    private let deadline: ContinuousClock.Instant?
    private var hasEnded = false
    /// The first statement's failure, if one failed.
    private(set) var failure: DatabaseError?

    /// - Parameters:
    ///   - longest: The time limit; nil for reads, which delay no other transaction, and for migrations.
    ///   - now: The machine's clock.
    init(
        _ session: any StatementSession, longest: Duration? = Connection.longest,
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.session = session
        self.now = now
        deadline = longest.map { now() + $0 }
    }

    /// Runs a statement and returns all its rows, including those of a `RETURNING` clause.
    ///
    /// - Parameters:
    ///   - sql: One statement, the same for both engines, with placeholders `$1`, `$2`….
    ///   - arguments: The values of the placeholders, `$1` first.
    /// - Throws: ``DatabaseError``.
    public func query(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> [Row] {
        try perform { () throws(DatabaseError) in try session.query(sql, arguments) }
    }

    /// Runs a statement and returns its first row, or nil if it has no rows.
    ///
    /// - Throws: ``DatabaseError``.
    public func queryOne(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> Row? {
        try query(sql, arguments).first
    }

    /// Runs a statement and returns the number of rows that it inserted, updated or deleted.
    ///
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func execute(_ sql: String, _ arguments: [any SQLConvertible] = []) throws -> Int {
        try perform { () throws(DatabaseError) in try session.execute(sql, arguments) }
    }

    /// Makes later use of the connection fail. Called when the closure has returned.
    func end() {
        hasEnded = true
    }

    /// Throws the first statement's failure again, which the closure may have caught.
    func checkUnfailed() throws(DatabaseError) {
        if let failure { throw failure }
    }

    private func perform<T>(_ statement: () throws(DatabaseError) -> T) throws(DatabaseError) -> T {
        if hasEnded {
            throw DatabaseError(.closed, "the connection was used after its transaction had ended")
        }
        try checkUnfailed()
        do throws(DatabaseError) {
            if let deadline, now() >= deadline {
                throw DatabaseError(
                    .busy, "the transaction took longer than \(Self.longest) and was rolled back; try again later")
            }
            return try statement()
        } catch {
            failure = error
            throw error
        }
    }
}

@available(*, unavailable)
extension Connection: Sendable {}

extension SQLText {
    /// Checks the number of arguments. The engines report a wrong number differently, so the module checks it itself.
    func check(argumentCount: Int) throws(DatabaseError) {
        guard argumentCount == placeholders else {
            throw Self.wrongCount(placeholders: placeholders, arguments: argumentCount)
        }
    }

    static func wrongCount(placeholders: Int, arguments: Int) -> DatabaseError {
        DatabaseError(.invalidSQL, "the statement takes \(placeholders) arguments, and \(arguments) were given")
    }
}
