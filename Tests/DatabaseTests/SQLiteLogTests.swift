import Foundation
import TestSupport
import Testing

@testable import Database

private let table = Migration(
    1, "filler", ["CREATE TABLE filler (id BIGINT NOT NULL PRIMARY KEY, content BYTEA NOT NULL)"])

@Suite struct SQLiteLogTests {
    private static let settings: SQLiteSettings = {
        var settings = SQLiteSettings()
        settings.checkpointPages = 40
        settings.longestLog = 200
        return settings
    }()

    private func withDatabase(_ body: (Database, String) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("store.sqlite")
            let database = try await Database.open(
                .sqlite(path: path), migrations: [table], limits: Database.Limits(), sqlite: Self.settings,
                logger: .silent)
            let result = await Result.of { try await body(database, path) }
            await database.close()
            try result.get()
            let log = path + "-wal"
            #expect(!FileManager.default.fileExists(atPath: log), "closing folds the log into the file")
            let again = try await Database.open(.sqlite(path: path), migrations: [table], logger: .silent)
            let check = try await again.read { try $0.query("SELECT integrity_check FROM pragma_integrity_check") }
            #expect(try check.map { try $0.string(0) } == ["ok"])
            await again.close()
        }
    }

    private static func insert(_ id: Int) -> @Sendable (Connection) throws -> Void {
        { connection in
            try connection.execute(
                "INSERT INTO filler (id, content) VALUES ($1, $2)", [id, [UInt8](repeating: 7, count: 6_000)])
        }
    }

    private func pages(_ path: String) throws -> Int {
        let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
        return try #require(size) / 4_120
    }

    @Test func theLogStaysShortWhileItIsWritten() async throws {
        try await withDatabase { database, path async throws in
            var longest = 0
            for id in 0..<600 {
                try await database.write(Self.insert(id))
                longest = max(longest, try pages(path))
            }
            // 600 writes make more than 1800 pages. The last write before the limit may go over it.
            #expect(longest <= 200 + 10)
            let count = try await database.read { try $0.queryOne("SELECT COUNT(*) FROM filler")?.int(0) }
            #expect(count == 600)
        }
    }

    @Test func aReaderThatHoldsTheLogKeepsItsStateAndDelaysNobodyForEver() async throws {
        try await withDatabase { database, path async throws in
            try await database.write(Self.insert(0))
            let (began, written) = (Gate(), Gate())
            async let seen = database.read { connection in
                let sql = "SELECT COUNT(*) FROM filler"
                let before = try connection.queryOne(sql)?.int(0)
                began.open()
                written.wait()
                return [before, try connection.queryOne(sql)?.int(0)]
            }
            try await database.read { _ in began.wait() }
            for id in 1...90 { try await database.write(Self.insert(id)) }
            #expect(try pages(path) > 200)
            written.open()
            #expect(try await seen == [1, 1])
            for id in 91...400 { try await database.write(Self.insert(id)) }
            #expect(try pages(path) <= 200 + 60)
            let count = try await database.read { try $0.queryOne("SELECT COUNT(*) FROM filler")?.int(0) }
            #expect(count == 401)
        }
    }
}
