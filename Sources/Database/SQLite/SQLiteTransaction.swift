/// Transactions on the writing connection.
struct SQLiteTransaction {
    let session: SQLiteConnection

    init(_ session: SQLiteConnection) {
        self.session = session
    }

    /// Whether a transaction is open. SQLite ends one by itself after some failures, a full disk among them.
    var isOpen: Bool { session.isInsideTransaction }

    /// Begins, runs `body`, and commits; rolls back when any of it throws. For migrations: it may take any time.
    func run<T>(_ body: (Connection) throws -> T) throws -> T {
        try begin()
        do {
            let connection = Connection(session, longest: nil)
            defer { connection.end() }
            let result = try body(connection)
            try connection.checkUnfailed()
            try commit()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    /// Takes the write lock at once, so that no later statement has to wait for it.
    func begin() throws(DatabaseError) { try session.run(.beginWriting) }

    /// Makes everything durable.
    func commit() throws(DatabaseError) { try session.run(.commit) }

    /// Undoes everything. When SQLite has done so already there is nothing left to do.
    func rollback() {
        if isOpen { try? session.run(.rollback) }
    }

    /// Runs `body` so that it alone is undone when it throws.
    func savepoint<T>(_ body: () throws -> T) throws -> T {
        try session.run(.savepoint)
        do {
            let result = try body()
            try session.run(.release)
            return result
        } catch {
            if isOpen {
                try session.run(.rollbackToSavepoint)
                try session.run(.release)
            }
            throw error
        }
    }
}
