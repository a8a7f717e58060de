import Database
import GRDBSQLite

/// What SQLite does for statements, as its `EXPLAIN` tells.
public enum SQLiteProgram {
    /// A call of SQLite that failed.
    public struct Failure: Error {
        /// The text of `sqlite3_errmsg`.
        public let message: String
    }

    /// The tables of a schema to which writing a row makes SQLite build a table of its own first, as it does for each
    /// check of a value against a list of more than two (`OpenEphemeral`, https://www.sqlite.org/opcode.html).
    public static func tablesWithCostlyRows(_ migrations: [Migration]) async throws -> [String] {
        try await TemporaryDirectory.with { directory async throws in
            let path = directory.path("schema.sqlite")
            let database = try await Database.open(.sqlite(path: path), migrations: migrations, logger: .silent)
            await database.close()
            return try tablesWithCostlyRows(in: path)
        }
    }

    private static func tablesWithCostlyRows(in path: String) throws -> [String] {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        // A database with a log cannot be read by who may not write.
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            throw failure(handle)
        }
        return try texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", column: 0, handle).filter
        {
            try texts("EXPLAIN INSERT INTO \($0) DEFAULT VALUES", column: 1, handle).contains("OpenEphemeral")
        }
    }

    private static func texts(_ sql: String, column: Int32, _ handle: OpaquePointer?) throws -> [String] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(handle) }
        var found: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                if let text = sqlite3_column_text(statement, column) { found.append(String(cString: text)) }
            case SQLITE_DONE: return found
            default: throw failure(handle)
            }
        }
    }

    private static func failure(_ handle: OpaquePointer?) -> Failure {
        Failure(message: sqlite3_errmsg(handle).map { String(cString: $0) } ?? "no connection")
    }
}
