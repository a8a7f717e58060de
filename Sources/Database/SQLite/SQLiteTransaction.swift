internal import GRDB

/// Transactions on the writing connection.
struct SQLiteTransaction {
    private let database: GRDB.Database
    let session: SQLiteSession

    init(_ database: GRDB.Database, _ texts: SQLTextCache) {
        self.database = database
        session = SQLiteSession(database, texts)
    }

    /// Whether a transaction is open. SQLite ends one by itself after some failures, a full disk among them.
    var isOpen: Bool { database.isInsideTransaction }

    /// Begins, runs `body`, and commits; rolls back when any of it throws.
    func run<T>(_ body: (Connection) throws -> T) throws -> T {
        try begin()
        do {
            let connection = Connection(session)
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
    func begin() throws { try execute("BEGIN IMMEDIATE") }

    /// Makes everything durable.
    func commit() throws { try execute("COMMIT") }

    /// Undoes everything. When SQLite has done so already there is nothing left to do.
    func rollback() {
        if isOpen { try? execute("ROLLBACK") }
    }

    /// Runs `body` so that it alone is undone when it throws.
    func savepoint<T>(_ body: () throws -> T) throws -> T {
        try execute("SAVEPOINT one")
        do {
            let result = try body()
            try execute("RELEASE one")
            return result
        } catch {
            if isOpen {
                try execute("ROLLBACK TO one")
                try execute("RELEASE one")
            }
            throw error
        }
    }

    private func execute(_ sql: String) throws {
        try database.cachedStatement(sql: sql).execute()
    }
}
