import CornerstoreSQLite
import Database

/// What SQLite does for statements, as its `EXPLAIN` tells.
public enum SQLiteProgram {
    /// The tables of a schema to which writing a row makes SQLite build a table of its own first, as it does for each
    /// check of a value against a list of more than two (`OpenEphemeral`, https://www.sqlite.org/opcode.html).
    public static func tablesWithCostlyRows(_ migrations: [Migration]) async throws -> [String] {
        try await with(migrations) { connection in
            let tables = try texts(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", column: 0, connection)
            return try tables.filter {
                try texts("EXPLAIN INSERT INTO \($0) DEFAULT VALUES", column: 1, connection).contains("OpenEphemeral")
            }
        }
    }

    /// The steps of a statement's plan on the empty tables of a schema, such as `SEARCH lots USING INDEX due (at<?)`.
    public static func plan(of statement: String, _ migrations: [Migration]) async throws -> [String] {
        try await with(migrations) { try texts("EXPLAIN QUERY PLAN \(statement)", column: 3, $0) }
    }

    private static func with(
        _ migrations: [Migration], _ body: @Sendable (SQLiteConnection) throws -> [String]
    ) async throws -> [String] {
        try await TemporaryDirectory.with { directory async throws in
            let path = directory.path("schema.sqlite")
            let database = try await Database.open(.sqlite(path: path), migrations: migrations, logger: .silent)
            await database.close()
            // A database with a log can be read only by those who may write.
            let connection = try SQLiteConnection(path: path, .readWrite)
            defer { connection.close() }
            return try body(connection)
        }
    }

    private static func texts(_ sql: String, column: Int, _ connection: SQLiteConnection) throws -> [String] {
        let statement = try connection.prepare(sql)
        var found: [String] = []
        while try statement.step() { found.append(try statement.text(column)) }
        return found
    }
}
