internal import CornerstoreSQLite

/// A connection to a SQLite file, for statements with `$1` as both engines use them. One thread at a time uses it.
final class SQLiteSession {
    private let connection: SQLiteConnection
    /// The prepared statements, found by their texts with `$1`, so that each text is parsed once.
    private var statements = SQLiteStatementCache()

    /// Opens a file, which must exist.
    ///
    /// - Parameter cache: The greatest size of the page cache, in KiB.
    init(path: String, _ access: SQLiteConnection.Access, cache: Int) throws(DatabaseError) {
        connection = try Self.mapped { () throws(SQLiteError) in
            try SQLiteConnection(path: path, access, cache: cache)
        }
        connection.takeOverCheckpoints()
    }

    /// Closes the connection; later use fails. The last connection to a file moves the log into the file.
    func close() {
        statements.removeAll()
        connection.close()
    }

    /// Runs one of the module's own statements, such as a `PRAGMA`, once.
    func run(_ sql: String) throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.run(sql) }
    }

    /// Sets how long a statement waits for another connection's lock.
    func setPatience(milliseconds: Int32) { connection.setPatience(milliseconds: milliseconds) }

    // MARK: Transactions

    /// Whether a transaction is open. SQLite ends a transaction by itself after some failures, a full disk among them.
    var isInsideTransaction: Bool { connection.isInsideTransaction }

    /// Begins a read transaction.
    func begin() throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.begin() }
    }

    /// Begins a write transaction. It takes the write lock at once.
    func beginWriting() throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.beginWriting() }
    }

    /// Commits the open transaction. Its changes are on the disk when this returns.
    func commit() throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.commit() }
    }

    /// Rolls back the open transaction. Does nothing when SQLite has rolled it back already.
    func rollback() { connection.rollback() }

    /// Runs `body` in a savepoint of the open transaction. When `body` throws, only its own changes are rolled back.
    func savepoint<T>(_ body: () throws -> T) throws -> T {
        do { return try connection.savepoint(body) } catch let error as SQLiteError { throw DatabaseError(error) }
    }

    /// Runs `body` in a write transaction without a time limit, for a migration.
    func migrate<T>(_ body: (Connection) throws -> T) throws -> T {
        do {
            return try connection.transaction {
                let connection = Connection(self, longest: nil)
                defer { connection.end() }
                let result = try body(connection)
                try connection.checkMayCommit()
                return result
            }
        } catch let error as SQLiteError {
            throw DatabaseError(error)
        }
    }

    // MARK: The write-ahead log

    /// Turns on the file's write-ahead log. The setting is stored in the file.
    func useWriteAheadLog() throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.useWriteAheadLog() }
    }

    /// The number of pages in the log after the last commit of this connection.
    var logPages: Int { connection.logPages }

    /// Moves pages from the log into the file; see ``SQLiteConnection/checkpoint(restarting:)``.
    func checkpoint(restarting: Bool) throws(DatabaseError) -> Int? {
        try Self.mapped { () throws(SQLiteError) in try connection.checkpoint(restarting: restarting) }
    }

    /// Flushes the file, without its log, to the disk.
    func flushFile() throws(DatabaseError) {
        try Self.mapped { () throws(SQLiteError) in try connection.flushFile() }
    }

    private static func mapped<T>(_ body: () throws(SQLiteError) -> T) throws(DatabaseError) -> T {
        do throws(SQLiteError) { return try body() } catch { throw DatabaseError(error) }
    }
}

extension SQLiteSession: StatementSession {
    func endStatements(at deadline: ContinuousClock.Instant?) { connection.deadline = deadline }

    func query(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> [Row] {
        let statement = try statement(sql)
        defer { statement.reset() }
        try Self.bind(arguments.lazy.map { $0.sqlValue }, to: statement)
        do throws(SQLiteError) {
            var rows: [Row] = []
            while try statement.step() { rows.append(try Self.row(statement)) }
            return rows
        } catch {
            throw DatabaseError(error)
        }
    }

    func execute(_ sql: String, _ arguments: [any SQLConvertible]) throws(DatabaseError) -> Int {
        try run(sql, arguments.lazy.map { $0.sqlValue })
    }

    func execute(_ sql: String, values: [SQLValue]) throws(DatabaseError) -> Int { try run(sql, values) }

    private func run(_ sql: String, _ values: some Collection<SQLValue>) throws(DatabaseError) -> Int {
        let statement = try statement(sql)
        do throws(DatabaseError) {
            try Self.bind(values, to: statement)
        } catch {
            statement.reset()
            throw error
        }
        // run() resets the statement.
        do throws(SQLiteError) { return try statement.run() } catch { throw DatabaseError(error) }
    }

    /// The prepared statement of a text, prepared at the first use.
    private func statement(_ sql: String) throws(DatabaseError) -> SQLiteStatement {
        if let known = statements.find(sql) { return known }
        let text = try SQLText(sql)
        let isKept = text.kind == .data && statements.hasRoom
        let statement = try Self.mapped { () throws(SQLiteError) in
            try connection.prepare(text.sqlite, isKept: isKept)
        }
        if isKept { statements.add(statement, for: sql) }
        return statement
    }

    private static func bind(
        _ values: some Collection<SQLValue>, to statement: SQLiteStatement
    ) throws(DatabaseError) {
        guard values.count == statement.argumentCount else {
            throw SQLText.wrongCount(placeholders: statement.argumentCount, arguments: values.count)
        }
        var position = 0
        for value in values {
            position += 1
            try SQLArgument.check(value, position: position)
            do throws(SQLiteError) { try bind(value, position, statement) } catch { throw DatabaseError(error) }
        }
    }

    private static func bind(_ value: SQLValue, _ position: Int, _ statement: SQLiteStatement) throws(SQLiteError) {
        switch value {
        // The arguments are null before the first run, and after each reset.
        case .null: break
        case .integer(let integer): try statement.bind(integer, at: position)
        case .boolean(let boolean): try statement.bind(boolean ? 1 : 0, at: position)
        case .text(let text): try statement.bind(text, at: position)
        case .bytes(let bytes): try statement.bind(bytes, at: position)
        }
    }

    private static func row(_ statement: SQLiteStatement) throws(SQLiteError) -> Row {
        let count = statement.columnCount
        var values: [SQLValue] = []
        values.reserveCapacity(count)
        for column in 0..<count {
            switch statement.kind(column) {
            case .null: values.append(.null)
            case .integer: values.append(.integer(statement.int64(column)))
            case .text: values.append(.text(try statement.text(column)))
            case .bytes: values.append(.bytes(statement.bytes(column)))
            case .fraction:
                throw SQLiteError(.columnType, "column \(column) holds a fraction; only integers are stored")
            }
        }
        return Row(values)
    }
}
