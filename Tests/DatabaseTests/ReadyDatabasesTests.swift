import Database
import Testing

@testable import TestSupport

/// Schemas that several tests use, one after the other. The migrations are this suite's own, so no other test takes
/// their schemas.
@Suite(.enabled(if: ReadyDatabases.mayLeaveSchemas), .timeLimit(.minutes(1))) struct ReadyDatabasesTests {
    private func library(_ name: String) -> [Migration] {
        [
            Migration(
                1, name,
                [
                    "CREATE TABLE books (id BIGINT NOT NULL PRIMARY KEY, copies BIGINT NOT NULL DEFAULT 1)",
                    "CREATE TABLE loans (id BIGINT NOT NULL PRIMARY KEY, book_id BIGINT NOT NULL REFERENCES books)",
                ]),
            Migration(2, "seeds", ["INSERT INTO books (id, copies) VALUES (1, 10)"]),
        ]
    }

    /// Runs statements in a schema with the migrations' tables. Returns the schema's name.
    private func use(_ migrations: [Migration], _ statements: [String]) async throws -> String {
        try await Backend.postgresql.withDatabase(migrations: migrations) { database, location async throws in
            #expect(try await rows(database, "SELECT id, copies FROM books") == ["1 10"])
            #expect(try await rows(database, "SELECT id, book_id FROM loans") == [])
            try await database.write { connection in
                for statement in statements { try connection.execute(statement) }
            }
            guard case .postgresql(_, let schema, _) = location else { return "" }
            return schema
        }
    }

    private func rows(_ database: Database, _ question: String) async throws -> [String] {
        try await database.read { connection in
            try connection.query(question).map { "\(try $0.int(0)) \(try $0.int(1))" }
        }
    }

    @Test func aSchemaIsUsedAgainWithTheRowsOfItsMigrationsAlone() async throws {
        let migrations = library("rows")
        let first = try await use(
            migrations,
            [
                "INSERT INTO books (id) VALUES (2)", "INSERT INTO loans (id, book_id) VALUES (1, 2)",
                "UPDATE books SET copies = 9 WHERE id = 1",
            ])
        #expect(try await use(migrations, ["DELETE FROM books"]) == first)
        #expect(try await use(migrations, []) == first)
    }

    @Test(arguments: [
        "ALTER TABLE books ADD COLUMN title TEXT", "ALTER TABLE books ALTER COLUMN copies SET DEFAULT 2",
        "DROP TABLE loans", "CREATE INDEX loans_of_books ON loans (book_id)",
        "INSERT INTO schema_migrations (number, name, checksum) VALUES (3, 'later', '')",
        "UPDATE schema_migrations SET checksum = '' WHERE number = 2", "DROP TABLE schema_migrations",
    ])
    func aChangedSchemaIsNotUsedAgain(_ change: String) async throws {
        let migrations = library("changes \(change)")
        let changed = try await use(migrations, [change])
        let next = try await use(migrations, [])
        #expect(next != changed)
        #expect(try await use(migrations, []) == next)
    }
}
