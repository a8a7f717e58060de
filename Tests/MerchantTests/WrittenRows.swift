import Database

/// Notes the rows that statements write, in the order of the statements. SQLite alone can: the program decides the
/// order, which is the same on PostgreSQL.
enum WrittenRows {
    /// Begins to note the rows of a table.
    /// - Parameters:
    ///   - statements: those that count, such as `INSERT` and `UPDATE OF expires_at`.
    ///   - column: the column by which a row is noted.
    static func note(
        _ statements: String..., in table: String, by column: String, _ database: Database
    ) async throws {
        try await database.write { connection in
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS written (number INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            for statement in statements {
                try connection.execute(
                    """
                    CREATE TRIGGER "\(table) \(statement)" AFTER \(statement) ON \(table)
                    BEGIN INSERT INTO written (name) VALUES (NEW.\(column)); END
                    """)
            }
        }
    }

    /// Returns the names of the rows that were written since the last call.
    static func takeAll(_ database: Database) async throws -> [String] {
        try await database.write { connection in
            let names = try connection.query("SELECT name FROM written ORDER BY number").map { try $0.string(0) }
            try connection.execute("DELETE FROM written")
            return names
        }
    }
}
