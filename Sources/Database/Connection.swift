/// Runs statements of one engine inside an open transaction.
protocol StatementSession: AnyObject {
    /// Runs a statement and returns its rows; empty for a statement without rows.
    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row]
    /// Runs a statement and returns the number of rows changed; 0 for a statement that changes no rows.
    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int
    /// Runs a statement whose arguments are values already.
    func execute(_ sql: String, values: [SQLValue]) throws(DatabaseError) -> Int
    /// Makes statements that still run at that moment fail as `busy`; nil lets them run. An engine whose server bounds
    /// each statement need not do it.
    func endStatements(at deadline: ContinuousClock.Instant?)
}

extension StatementSession {
    func execute(_ sql: String, values: [SQLValue]) throws(DatabaseError) -> Int { try execute(sql, values) }
}

/// An open transaction, handed to the closure of ``Database/write(_:)`` or ``Database/read(_:)`` and valid only inside
/// it.
///
/// A failed statement makes the whole transaction fail, on both engines. Later statements repeat its error, and nothing
/// is committed even if the closure catches the error. If a row may exist already, use `ON CONFLICT … DO NOTHING` or a
/// `WHERE`; do not catch the violation. A write transaction that takes longer than 30 seconds fails in the same way,
/// with ``DatabaseError/Code/busy``, because other transactions wait for the writer or the connection.
public final class Connection {
    private let session: any StatementSession
    private let now: () -> ContinuousClock.Instant
    private let longest: Duration?
    /// The time after which statements fail; nil for a transaction without a limit.
    private let deadline: ContinuousClock.Instant?
    private var hasEnded = false
    /// The first statement's failure, if one failed.
    private(set) var failure: DatabaseError?
    /// Whether the transaction failed because it took too long.
    private(set) var isOverdue = false
    /// Whether other processes may change the database meanwhile, whose clocks may be ahead (``Membership``).
    public let isShared: Bool
    /// The changes to announce to the other processes once the transaction is committed.
    private(set) var announcements: [Announcement] = []
    /// Whether the transaction's caller waits until the other processes have applied ``announcements``.
    private(set) var isAwaited = false
    /// Shows that the server has the transaction once it is committed; nil for none, and without a ``Membership``.
    private(set) var commitWitness: CommitWitness?
    /// Whether a fallback may take the witness's place.
    private var takesFallback = true

    /// - Parameters:
    ///   - longest: The longest time from here to the commit; nil for reads, which delay no other transaction, and for
    ///     migrations.
    ///   - isShared: Whether other processes may use the database.
    ///   - now: The machine's clock.
    init(
        _ session: any StatementSession, longest: Duration?, isShared: Bool = false,
        now: @escaping () -> ContinuousClock.Instant = { .now }
    ) {
        self.session = session
        self.now = now
        self.longest = longest
        self.isShared = isShared
        deadline = longest.map { now() + $0 }
        session.endStatements(at: deadline)
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

    /// Runs a statement as ``execute(_:_:)`` does. The values of a row with many columns need no copies as
    /// `any SQLConvertible` then.
    ///
    /// - Throws: ``DatabaseError``.
    @discardableResult
    public func execute(_ sql: String, values: [SQLValue]) throws -> Int {
        try perform { () throws(DatabaseError) in try session.execute(sql, values: values) }
    }

    /// Tells the other processes, once the transaction is committed, that what they keep of `topic` has changed. The
    /// process itself is told too. Has no effect without a ``Membership``.
    ///
    /// - Parameters:
    ///   - topic: The kind of data that has changed: 1 to 40 small letters and full stops, such as `accounts`. The
    ///     others hear it behind the last word of the schema's name, as `sandbox.accounts`.
    ///   - detail: Which part of it has changed, at most ``Announcement/longestDetail`` bytes in one line; empty for
    ///     all of it.
    ///   - isAwaited: Whether ``Database/write(_:)`` returns only when all live processes have applied the change, or
    ///     can no longer use what they keep, which takes little more than a second.
    /// - Throws: ``DatabaseError`` `invalidValue` for a topic or a detail of another form, `closed` after the
    ///   transaction's end.
    public func announce(_ topic: String, _ detail: String = "", isAwaited: Bool = true) throws {
        if hasEnded {
            throw DatabaseError(.closed, "the connection was used after its transaction had ended")
        }
        let announcement = Announcement(topic: topic, detail: detail)
        guard announcement.isWellFormed else {
            throw DatabaseError(.invalidValue, "an announcement's topic or detail is malformed")
        }
        if isAwaited { self.isAwaited = true }
        if announcements.last != announcement { announcements.append(announcement) }
    }

    /// Names a query that has a row from this transaction's commit on, for good. A process that was without connection
    /// runs those of its newest commits, and ends if one has no row, because the server then lacks changes that it had
    /// confirmed (``DatabaseError/Code/dataLost``). The last query of a transaction counts, and a fallback only if
    /// there is no other. Has no effect without a ``Membership``.
    ///
    /// - Parameters:
    ///   - sql: A query of one row, with placeholders `$1`, `$2`….
    ///   - values: The values of the placeholders, `$1` first. Evaluated only when the query counts.
    ///   - isFallback: Whether the query can also have a row from a later transaction.
    public func witness(_ sql: String, _ values: @autoclosure () -> [SQLValue], isFallback: Bool = false) {
        guard isShared, !isFallback || takesFallback else { return }
        takesFallback = isFallback
        commitWitness = CommitWitness(sql: sql, values: values())
    }

    /// Makes later use of the connection fail. Called when the closure has returned.
    func end() {
        hasEnded = true
        session.endStatements(at: nil)
    }

    /// Throws when the transaction must not be committed: the error of a failed statement, even if the closure has
    /// caught it, or the error of a transaction that took too long.
    func checkMayCommit() throws(DatabaseError) {
        if let failure = failure ?? lateness() { throw failure }
    }

    /// The error of this transaction if it has passed its deadline, else nil.
    private func lateness() -> DatabaseError? {
        guard let longest, let deadline, now() >= deadline else { return nil }
        isOverdue = true
        return DatabaseError(.busy, "the transaction took over \(longest) and was rolled back; try again later")
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
            // The engine ended the statement at the deadline. Report the deadline and not the engine's error.
            let failure = error.code == .busy ? lateness() ?? error : error
            self.failure = failure
            throw failure
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
