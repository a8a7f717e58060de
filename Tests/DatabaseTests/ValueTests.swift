import Database
import TestSupport
import Testing

private let table = Migration(
    1, "values",
    [
        "CREATE TABLE kept (id BIGINT NOT NULL PRIMARY KEY, i BIGINT, t TEXT, y BYTEA, b BOOLEAN)"
    ])

private enum Colour: String, SQLConvertible { case red, green }

@Suite(.timeLimit(.minutes(1))) struct ValueTests {
    private static let rows: [[SQLValue]] = [
        [.null, .null, .null, .null],
        [.integer(0), .text(""), .bytes([]), .boolean(false)],
        [.integer(.max), .text("it's \"$1\" ? :a @b -- \\ % ü 🐒 \u{1}\n"), .bytes([0, 0, 255, 0]), .boolean(true)],
        [.integer(.min), .text(String(repeating: "long ", count: 40_000)), .bytes(Array(0...255)), .boolean(true)],
        [.integer(-1), .text("123"), .bytes(Array("123".utf8)), .null],
    ]

    @Test(arguments: Backend.available) func everyTypeIsReadAsItWasWritten(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            try await database.write { connection in
                for (id, row) in Self.rows.enumerated() {
                    let changed = try connection.execute(
                        "INSERT INTO kept (t, y, b, i, id) VALUES ($3, $4, $5, $2, $1)", [id] + row
                    )
                    #expect(changed == 1)
                }
            }
            let kept = try await database.read { try $0.query("SELECT i, t, y, b FROM kept ORDER BY id") }
            try #require(kept.count == Self.rows.count)
            for (row, expected) in zip(kept, Self.rows) {
                #expect(try row.optionalInt64(0).sqlValue == expected[0])
                #expect(try row.optionalString(1).sqlValue == expected[1])
                #expect(try row.optionalBytes(2).sqlValue == expected[2])
                #expect(try row.optionalBool(3).sqlValue == expected[3])
            }
        }
    }

    @Test(arguments: Backend.available) func valuesAreFoundByEveryType(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            let found = try await database.write { connection in
                for (id, row) in Self.rows.enumerated() {
                    try connection.execute("INSERT INTO kept (id, i, t, y, b) VALUES ($1, $2, $3, $4, $5)", [id] + row)
                }
                let row = Self.rows[2]
                return try connection.query(
                    "SELECT id FROM kept WHERE i = $1 AND t = $2 AND y = $3 AND b = $4 LIMIT $5", row + [1]
                ).map { try $0.int(0) }
            }
            #expect(found == [2])
        }
    }

    @Test(arguments: Backend.available) func aTypedNullHasAMeaning(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            let sql = "SELECT CASE WHEN $1 IS NULL THEN 'none' ELSE 'some' END"
            let answers = try await database.read { connection in
                try [
                    connection.queryOne(sql, [Int64?.none])?.string(0),
                    connection.queryOne(sql, [Int64?.some(1)])?.string(0),
                    connection.queryOne(sql, [String?.none])?.string(0),
                    connection.queryOne(sql, [Colour?.none])?.string(0),
                    connection.queryOne(sql, [Colour.red])?.string(0),
                ]
            }
            #expect(answers == ["none", "some", "none", "none", "some"])
        }
    }

    @Test(arguments: Backend.available) func textWithNULIsRefused(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            await expect(.invalidValue) {
                try await database.write { try $0.execute("INSERT INTO kept (id, t) VALUES (1, $1)", ["a\0b"]) }
            }
        }
    }

    @Test(arguments: Backend.available) func theNumberOfArgumentsMustMatch(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            for arguments in [[], [1, 2]] {
                await expect(.invalidSQL) {
                    try await database.read { try $0.query("SELECT CAST($1 AS BIGINT)", arguments) }
                }
            }
        }
    }

    @Test(arguments: Backend.available) func columnsAreReadOnlyAsTheirType(backend: Backend) async throws {
        try await backend.withDatabase(migrations: [table]) { database, _ async throws in
            let rows = try await database.read { connection in
                try connection.query(
                    "SELECT CAST($1 AS BIGINT), $2, $3, CAST(NULL AS TEXT)", [5, "five", [5] as [UInt8]])
            }
            let row = try #require(rows.first)
            #expect(try row.int(0) == 5)
            #expect(try row.string(1) == "five")
            #expect(try row.bytes(2) == [5])
            #expect(throws: DatabaseError.self) { try row.string(0) }
            #expect(throws: DatabaseError.self) { try row.bool(0) }
            #expect(throws: DatabaseError.self) { try row.int(1) }
            #expect(throws: DatabaseError.self) { try row.bytes(1) }
            #expect(throws: DatabaseError.self) { try row.string(2) }
            #expect(throws: DatabaseError.self) { try row.string(3) }
            #expect(throws: DatabaseError.self) { try row.string(4) }
            #expect(throws: DatabaseError.self) { try row.string(-1) }
            #expect(try row.optionalString(3) == nil)
        }
    }

    @Test(arguments: Backend.available) func fractionsAreRefused(backend: Backend) async throws {
        try await backend.withDatabase { database, _ async throws in
            await expect(.columnType) {
                try await database.read { try $0.queryOne("SELECT CAST(1.5 AS REAL)")?.int(0) }
            }
        }
    }
}
