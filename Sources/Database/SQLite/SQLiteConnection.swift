internal import CSQLite
internal import GRDBSQLite

/// One connection to a SQLite file through SQLite's C interface, with the statements prepared on it. Used by one thread at a time.
///
/// It is closed when it is let go, if it was not before.
final class SQLiteConnection {
    /// What a connection may do.
    enum Access {
        /// Writes in transactions that stay in memory until they commit. A commit is on the disk when it returns.
        case writer
        /// Whatever else changes the file, in transactions of any size.
        case readWrite
        case readOnly
    }

    /// What begins and ends transactions; prepared once.
    enum Command: String, CaseIterable {
        case begin = "BEGIN DEFERRED"
        case beginWriting = "BEGIN IMMEDIATE"
        case commit = "COMMIT"
        case rollback = "ROLLBACK"
        case savepoint = "SAVEPOINT one"
        case rollbackToSavepoint = "ROLLBACK TO one"
        case release = "RELEASE one"
    }

    /// Milliseconds that a statement waits for another connection's lock, unless ``setPatience(milliseconds:)`` says otherwise.
    static let patience: Int32 = 5_000

    /// Once in a process, before its first connection; later it is refused, and does no harm.
    private static let isConfigured = cornerstore_sqlite_count_no_memory() == SQLITE_OK

    private var handle: OpaquePointer?
    private var statements = SQLiteStatementCache()
    private var commands: [Command: SQLiteStatement] = [:]
    /// Where SQLite leaves the log's length after each commit.
    private let pages: UnsafeMutablePointer<Int32>

    /// Opens the file, which must be there.
    ///
    /// - Throws: ``DatabaseError``: `unavailable` when it cannot be opened.
    init(path: String, _ access: Access, cache: Int) throws(DatabaseError) {
        pages = .allocate(capacity: 1)
        pages.initialize(to: 0)
        _ = Self.isConfigured
        let flags = access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let fileSystem = access == .writer ? SQLiteLogFile.fileSystem : nil
        // A connection belongs to one thread at a time, so SQLite need not lock it.
        let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, fileSystem)
        guard code == SQLITE_OK, handle != nil else { throw failure(code) }
        sqlite3_extended_result_codes(handle, 1)
        // A misspelt column in double quotes would otherwise be taken for text.
        _disableDoubleQuotedStringLiterals(handle)
        setPatience(milliseconds: Self.patience)
        try run("PRAGMA foreign_keys = ON")
        try run("PRAGMA temp_store = MEMORY")
        try run("PRAGMA cache_size = -\(cache)")
        // With less a commit is not flushed, and the last ones may go with the power.
        if access != .readOnly { try run("PRAGMA synchronous = FULL") }
        if access == .writer { try keepTransactionsInMemory() }
        _ = sqlite3_wal_hook(
            handle,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, pages)
    }

    deinit {
        close()
        pages.deallocate()
    }

    /// Lets commits alone write to the log, as ``SQLiteLogFile`` must have it.
    private func keepTransactionsInMemory() throws(DatabaseError) {
        try run("PRAGMA cache_spill = OFF")
        // SQLite says nothing of a pragma that it does not know.
        let answer = try prepare("PRAGMA cache_spill", placeholders: 0, isKept: false)
        guard try answer.step(), (try? answer.row().int(0)) == 0 else {
            throw DatabaseError(.unavailable, "this SQLite does not keep transactions in memory (PRAGMA cache_spill)")
        }
    }

    /// Closes it; later use fails. The last connection to a file folds the log into it.
    func close() {
        statements.removeAll()
        commands = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// How many pages the log had after the last commit on this connection.
    var logPages: Int { Int(pages.pointee) }

    /// Whether a transaction is open. SQLite ends one by itself after some failures, a full disk among them.
    var isInsideTransaction: Bool { handle != nil && sqlite3_get_autocommit(handle) == 0 }

    /// How long a statement waits for another connection's lock.
    func setPatience(milliseconds: Int32) {
        sqlite3_busy_timeout(handle, milliseconds)
    }

    /// Runs one of the module's own statements, such as a `PRAGMA`, once.
    func run(_ sql: String) throws(DatabaseError) {
        let statement = try prepare(sql, placeholders: 0, isKept: false)
        while try statement.step() {}
    }

    /// Runs what begins or ends a transaction.
    func run(_ command: Command) throws(DatabaseError) {
        let statement: SQLiteStatement
        if let known = commands[command] {
            statement = known
        } else {
            statement = try prepare(command.rawValue, placeholders: 0, isKept: true)
            commands[command] = statement
        }
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// How far a checkpoint came.
    struct Checkpoint {
        /// Pages in the log, and how many of them are in the file; equal when none is left.
        var logPages: Int
        var movedPages: Int
    }

    /// Moves pages from the log into the file, or gives nil when others are in the way.
    ///
    /// - Parameter restarting: whether to wait for readers of the log, so that the next commit writes from its start.
    func checkpoint(restarting: Bool) throws(DatabaseError) -> Checkpoint? {
        var (log, moved) = (Int32(0), Int32(0))
        let mode = restarting ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &log, &moved)
        if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return nil }
        guard code == SQLITE_OK else { throw failure(code) }
        return Checkpoint(logPages: Int(log), movedPages: Int(moved))
    }

    /// Has the system write to the disk what it keeps of the file in memory. A checkpoint does so only when it comes to the log's end.
    func flushFile() throws(DatabaseError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK else { throw failure(code) }
        guard let file, let flush = file.pointee.pMethods?.pointee.xSync else { return }
        let flushed = flush(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY)
        guard flushed == SQLITE_OK else { throw DatabaseError(sqlite: flushed, message: nil) }
    }

    /// What SQLite says about the last failure.
    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(sqlite: code, message: handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) })
    }

    private func prepare(_ sql: String, placeholders: Int, isKept: Bool) throws(DatabaseError) -> SQLiteStatement {
        guard let handle else { throw DatabaseError(.closed, "the database is closed") }
        return try SQLiteStatement(sql, on: handle, placeholders: placeholders, isKept: isKept)
    }
}

extension SQLiteConnection: StatementSession {
    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row] {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        var rows: [Row] = []
        while try statement.step() { rows.append(try statement.row()) }
        return rows
    }

    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int {
        let statement = try statement(sql)
        defer { statement.reset() }
        try statement.bind(arguments)
        // SQLite keeps the last count over statements that change no rows.
        let before = sqlite3_total_changes(handle)
        while try statement.step() {}
        return sqlite3_total_changes(handle) == before ? 0 : Int(sqlite3_changes(handle))
    }

    /// The prepared statement for a text, made the first time.
    private func statement(_ sql: String) throws(DatabaseError) -> SQLiteStatement {
        if let known = statements.find(sql) { return known }
        let text = try SQLText(sql)
        let isKept = text.kind == .data && statements.hasRoom
        let statement = try prepare(text.sqlite, placeholders: text.placeholders, isKept: isKept)
        if isKept { statements.add(statement, for: sql) }
        return statement
    }
}
