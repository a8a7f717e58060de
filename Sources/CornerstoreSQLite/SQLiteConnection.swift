internal import CornerstoreCSQLite

/// A connection to a SQLite file. One thread at a time may use a connection and its statements.
///
/// A connection closes when its last reference is released, unless ``close()`` has closed it before.
public final class SQLiteConnection {
    /// How a file is opened.
    public enum Access: Sendable {
        /// Reads a file that exists.
        case readOnly
        /// Reads and writes a file that exists.
        case readWrite
        /// Reads and writes a file, which is created when it is missing.
        case create
    }

    /// How long a statement waits for another connection's lock, in milliseconds, until
    /// ``setPatience(milliseconds:)`` sets another time.
    public static let patience: Int32 = 5_000

    private(set) var handle: OpaquePointer?
    private var statements = SQLiteStatementCache()
    var commands: [Command: SQLiteStatement] = [:]
    /// The log's length in pages, written by SQLite's hook after each commit. Nil until ``takeOverCheckpoints()``.
    private var pages: UnsafeMutablePointer<Int32>?
    private let limit = StatementLimit()

    /// Opens a file. A connection that writes waits for the disk at each commit (`PRAGMA synchronous = FULL`) and
    /// checks foreign keys.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - access: How the file is opened.
    ///   - cache: The most memory for pages, in KiB; nil for SQLite's default.
    /// - Throws: ``SQLiteError``: `unavailable` when the file cannot be opened, `damaged` when it is not a database.
    public init(path: String, _ access: Access, cache: Int? = nil) throws(SQLiteError) {
        let flags =
            switch access {
            case .readOnly: SQLITE_OPEN_READONLY
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        // One thread at a time uses the connection, so SQLite need not lock it.
        let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else { throw SQLiteError(extended: code, on: self.handle) }
        sqlite3_extended_result_codes(handle, 1)
        cornerstore_sqlite3_refuse_text_in_double_quotes(handle)
        setPatience(milliseconds: Self.patience)
        try run("PRAGMA foreign_keys = ON")
        if let cache {
            try run("PRAGMA temp_store = MEMORY")
            try run("PRAGMA cache_size = -\(cache)")
        }
        // With NORMAL, a commit does not wait for the disk, and a loss of power undoes it.
        if access != .readOnly { try run("PRAGMA synchronous = FULL") }
    }

    deinit {
        close()
        pages?.deallocate()
    }

    /// Turns off SQLite's memory statistics, which saves a lock at each allocation. The setting holds for the whole
    /// process. SQLite accepts it only before the process opens its first connection.
    ///
    /// - Returns: Whether SQLite accepted the setting.
    public static func stopCountingMemory() -> Bool { cornerstore_sqlite3_stop_counting_memory() == SQLITE_OK }

    /// Closes the connection. Later use fails with ``SQLiteError/Code/closed``. The last connection to a file moves the
    /// write-ahead log into the file and removes it.
    public func close() {
        statements.removeAll()
        commands = [:]
        // Statements may outlive the connection, and the handler's context does not.
        if let handle { sqlite3_progress_handler(handle, 0, nil, nil) }
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Sets how long a statement waits for another connection's lock.
    public func setPatience(milliseconds: Int32) {
        sqlite3_busy_timeout(handle, milliseconds)
    }

    /// The moment from which running statements fail with ``SQLiteError/Code/interrupted``; nil, as at first, for no
    /// such moment. A statement that was changing rows undoes its whole transaction when it is interrupted
    /// (https://www.sqlite.org/c3ref/interrupt.html).
    public var deadline: ContinuousClock.Instant? {
        get { limit.deadline }
        set {
            limit.deadline = newValue
            guard newValue != nil, !limit.isWatched, let handle else { return }
            limit.isWatched = true
            sqlite3_progress_handler(
                handle, StatementLimit.interval,
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<StatementLimit>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
                }, Unmanaged.passUnretained(limit).toOpaque())
        }
    }

    /// Runs a statement once, without arguments, such as a `PRAGMA`. Rows are ignored.
    /// - Throws: ``SQLiteError``.
    public func run(_ sql: String) throws(SQLiteError) {
        try prepare(sql).run()
    }

    /// Prepares one statement.
    ///
    /// - Parameters:
    ///   - sql: One statement, with `?` or `?1` as placeholders.
    ///   - isKept: Whether the statement will run often.
    /// - Throws: ``SQLiteError``.
    public func prepare(_ sql: String, isKept: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        guard let handle else { throw SQLiteError(.closed, "the database is closed") }
        return try SQLiteStatement(sql, on: handle, isKept: isKept)
    }

    /// The prepared statement of a text. It is prepared at the first use and kept. The caller resets it after use, and
    /// does not ask for the same text while it runs.
    ///
    /// - Throws: ``SQLiteError``.
    public func statement(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        if let known = statements.find(sql) { return known }
        let statement = try prepare(sql, isKept: statements.hasRoom)
        if statements.hasRoom { statements.add(statement, for: sql) }
        return statement
    }

    // MARK: The write-ahead log

    /// Turns on the file's write-ahead log (https://www.sqlite.org/wal.html). The setting is stored in the file.
    ///
    /// - Throws: ``SQLiteError``: `unavailable` where the file system does not allow a log.
    public func useWriteAheadLog() throws(SQLiteError) {
        let statement = try prepare("PRAGMA journal_mode = WAL")
        guard try statement.step(), try statement.text(0) == "wal" else {
            throw SQLiteError(.unavailable, "the file system does not allow a write-ahead log; use a local disk")
        }
    }

    /// Leaves all checkpoints to the caller. SQLite no longer runs checkpoints by itself, and ``logPages`` is counted.
    public func takeOverCheckpoints() {
        guard pages == nil, let handle else { return }
        let pages = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        pages.initialize(to: 0)
        self.pages = pages
        // This hook replaces SQLite's own, which runs a checkpoint at 1000 pages.
        _ = sqlite3_wal_hook(
            handle,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, pages)
    }

    /// The number of pages in the log after the last commit of this connection; 0 before ``takeOverCheckpoints()``.
    public var logPages: Int { Int(pages?.pointee ?? 0) }

    /// Moves pages from the log into the file.
    ///
    /// - Parameter restarting: Whether to wait for the log's readers, so that the next commit overwrites the log from
    ///   its start.
    /// - Returns: The number of the log's pages that are in the file, or nil when another connection holds a lock.
    /// - Throws: ``SQLiteError``.
    public func checkpoint(restarting: Bool) throws(SQLiteError) -> Int? {
        var moved: Int32 = 0
        let mode = restarting ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, &moved)
        if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return nil }
        guard code == SQLITE_OK else { throw SQLiteError(extended: code, on: handle) }
        return Int(moved)
    }

    /// Flushes the file, without its log, to the disk. A checkpoint does this only when it has moved the whole log.
    ///
    /// - Throws: ``SQLiteError``.
    public func flushFile() throws(SQLiteError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK else { throw SQLiteError(extended: code, on: handle) }
        guard let file, let flush = file.pointee.pMethods?.pointee.xSync else { return }
        let flushed = flush(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY)
        guard flushed == SQLITE_OK else { throw SQLiteError(extended: flushed, message: nil) }
    }
}

/// The deadline of running statements. SQLite checks it while a statement runs.
private final class StatementLimit {
    /// The number of SQLite's virtual machine instructions between two checks of the clock: well under a millisecond.
    static let interval: Int32 = 10_000

    var deadline: ContinuousClock.Instant?
    /// Whether SQLite checks the deadline; true after the first deadline was set.
    var isWatched = false

    var isOver: Bool { deadline.map { .now >= $0 } ?? false }
}
