import CornerstoreSQLite
import TestSupport
import Testing

@testable import Database

@Suite(.timeLimit(.minutes(1))) struct SQLiteStatementCacheTests {
    private func withDatabase(_ body: (Database) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let database = try await Database.open(
                .sqlite(path: directory.path("store.sqlite")), migrations: [], logger: .silent)
            let result = await Result.of { try await body(database) }
            await database.close()
            try result.get()
        }
    }

    /// Not every byte of a long text is looked at when it is first sought, so the one that differs is put at every
    /// place.
    @Test func textsThatDifferInOneByteAreDifferentStatements() async throws {
        try await withDatabase { database in
            try await database.write { (connection) throws -> Void in
                for _ in 0..<2 {
                    for place in 0..<200 {
                        var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 200)
                        bytes[place] += 1
                        let text = String(decoding: bytes, as: UTF8.self)
                        #expect(try connection.queryOne("SELECT '\(text)'")?.string(0) == text)
                    }
                }
            }
        }
    }

    @Test func canonicallyEquivalentTextsAreDifferentStatements() async throws {
        try await withDatabase { database in
            let (composed, decomposed) = ("\u{E9}", "e\u{301}")
            #expect(composed == decomposed)
            try await database.write { (connection) throws -> Void in
                for letter in [composed, decomposed, composed] {
                    let found = try connection.queryOne("SELECT '\(letter)'")?.string(0)
                    #expect(found.map { Array($0.utf8) } == Array(letter.utf8))
                }
            }
        }
    }

    @Test func moreStatementsThanTheCacheHoldsStillRun() async throws {
        try await withDatabase { database in
            try await database.write { (connection) throws -> Void in
                for _ in 0..<2 {
                    for number in 0..<(SQLiteStatementCache.capacity + 50) {
                        #expect(try connection.queryOne("SELECT \(number) + $1", [1])?.int(0) == number + 1)
                    }
                }
            }
        }
    }

    @Test func argumentsDoNotOutliveTheirStatement() async throws {
        try await withDatabase { database in
            let sql = "SELECT $1, $2"
            try await database.write { (connection) throws -> Void in
                let first: [any SQLConvertible] = [[UInt8](), ""]
                #expect(try connection.query(sql, first)[0].values == [.bytes([]), .text("")])
                #expect(try connection.query(sql, [nil as String?, Int64.min])[0].values == [.null, .integer(.min)])
            }
            await expect(.invalidSQL) { try await database.write { try $0.query(sql, [1]) } }
            await expect(.invalidValue) { try await database.write { try $0.query(sql, [1, "a\0"]) } }
            let found = try await database.write { try $0.query(sql, [true, "é"]) }
            #expect(found[0].values == [.integer(1), .text("é")])
        }
    }
}
