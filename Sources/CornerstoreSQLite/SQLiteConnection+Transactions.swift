internal import CornerstoreCSQLite

extension SQLiteConnection {
    /// The statements that begin and end transactions.
    enum Command: String {
        case begin = "BEGIN DEFERRED"
        case beginWriting = "BEGIN IMMEDIATE"
        case commit = "COMMIT"
        case rollback = "ROLLBACK"
        case savepoint = "SAVEPOINT one"
        case rollbackToSavepoint = "ROLLBACK TO one"
        case release = "RELEASE one"
    }

    /// Whether a transaction is open. SQLite ends a transaction by itself after some failures, a full disk among them.
    public var isInsideTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Begins a read transaction.
    /// - Throws: ``SQLiteError``.
    public func begin() throws(SQLiteError) { try run(.begin) }

    /// Begins a write transaction. It takes the write lock at once, so that no later statement waits for the lock.
    /// - Throws: ``SQLiteError``.
    public func beginWriting() throws(SQLiteError) { try run(.beginWriting) }

    /// Commits the open transaction. Its changes are on the disk when this returns.
    /// - Throws: ``SQLiteError``.
    public func commit() throws(SQLiteError) { try run(.commit) }

    /// Rolls back the open transaction. Does nothing when SQLite has rolled it back already.
    public func rollback() {
        if isInsideTransaction { try? run(.rollback) }
    }

    /// Runs `body` in a write transaction. Commits when `body` returns, and rolls back when it throws.
    ///
    /// - Throws: ``SQLiteError``, and the errors of `body`.
    public func transaction<T>(_ body: () throws -> T) throws -> T {
        try beginWriting()
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    /// Runs `body` in a savepoint of the open transaction. When `body` throws, only its own changes are rolled back.
    ///
    /// - Throws: ``SQLiteError``, and the errors of `body`.
    public func savepoint<T>(_ body: () throws -> T) throws -> T {
        try run(.savepoint)
        do {
            let result = try body()
            try run(.release)
            return result
        } catch {
            if isInsideTransaction {
                try run(.rollbackToSavepoint)
                try run(.release)
            }
            throw error
        }
    }

    private func run(_ command: Command) throws(SQLiteError) {
        if commands[command] == nil { commands[command] = try prepare(command.rawValue, isKept: true) }
        try commands[command]?.run()
    }
}
