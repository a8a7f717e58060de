import Foundation
import TestSupport
import Testing

@testable import Database

private let table = Migration(
    1, "filler", ["CREATE TABLE filler (id BIGINT NOT NULL PRIMARY KEY, content BYTEA NOT NULL)"])

@Suite(.timeLimit(.minutes(1))) struct SQLiteLogTests {
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

    @Test func aLongReadKeepsItsStateAndDoesNotBlockWritesForever() async throws {
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

    // MARK: Transactions larger than the cache, whose pages go to the log before the commit

    /// A cache of 64 KiB, which the pages of larger transactions leave before the commit.
    private func withSmallCache(_ body: (Database, String) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.url.resolvingSymlinksInPath().appending(path: "store.sqlite").path
            var settings = SQLiteSettings()
            settings.writerCache = 64
            let database = try await Database.open(
                .sqlite(path: path), migrations: [table], limits: Database.Limits(), sqlite: settings, logger: .silent)
            let result = await Result.of { try await body(database, path) }
            await database.close()
            try result.get()
            try await SQLiteCopy.check(path)
        }
    }

    private static func fill(_ id: Int, _ size: Int = 9_000) -> @Sendable (Connection) throws -> Void {
        {
            try $0.execute(
                "INSERT INTO filler VALUES ($1, $2)",
                [id, [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: size)])
        }
    }

    private func ids(_ database: Database) async throws -> [Int] {
        try await database.read { try $0.query("SELECT id FROM filler ORDER BY id").map { try $0.int(0) } }
    }

    @Test func aNewDatabaseThatIsOnlyReadLeavesNoLog() async throws {
        try await withSmallCache { database, path async throws in
            #expect(try await ids(database) == [])
            await database.close()
            for companion in ["-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: path + companion)) }
        }
    }

    /// Another process may write in between, at the same places of the log.
    @Test func aRollbackDoesNotOverwriteAnotherCommit() async throws {
        try await withSmallCache { database, path async throws in
            let other = try await Database.open(.sqlite(path: path), migrations: [table], logger: .silent)
            struct TakenBack: Error {}
            for round in 0..<10 {
                await #expect(throws: TakenBack.self) {
                    try await database.write { connection in
                        for id in 0..<100 { try Self.fill(1_000 + id)(connection) }
                        throw TakenBack()
                    }
                }
                try await other.write(Self.fill(round))
                try await database.write { _ = try $0.query("SELECT id, content FROM filler") }
                #expect(try await ids(other) == Array(0...round))
                if !round.isMultiple(of: 3) { continue }
                try await database.write(Self.fill(100 + round))
                try await database.write { try $0.execute("DELETE FROM filler WHERE id = $1", [100 + round]) }
            }
            await other.close()
        }
    }

    @Test func aTransactionLargerThanTheLogIsRefusedAndLeavesNoChanges() async throws {
        try await withSmallCache { database, path async throws in
            try await database.write(Self.fill(1))
            let disk = try FullDisk(path + "-wal")
            // The first fits into the cache and fails at its commit; the others fail before it.
            for (id, size) in [(2, 4_000), (3, 500_000), (4, 2_000_000)] {
                await expect(.full) { try await database.write(Self.fill(id, size)) }
                #expect(try await ids(database) == [1])
            }
            disk.end()
            try await database.write(Self.fill(5))
            #expect(try await ids(database) == [1, 5])
        }
    }

    @Test func transactionsLargerThanTheCacheReadTheirChangesAndCanBeRolledBack() async throws {
        try await withSmallCache { database, _ async throws in
            struct TakenBack: Error {}
            var kept = 0
            for round in 0..<6 {
                let isKept = !round.isMultiple(of: 3)
                let first = kept
                let result = await Result.of {
                    try await database.write { connection in
                        for id in first..<(first + 400) { try Self.fill(id, 5_000)(connection) }
                        // Over pages that earlier rounds left in the log, and those of this one.
                        try connection.execute(
                            "UPDATE filler SET content = $1 WHERE id % 7 = 3", [[UInt8](repeating: 9, count: 4_000)])
                        let row = try connection.queryOne(
                            "SELECT COUNT(*), CAST(SUM(LENGTH(content)) AS BIGINT) FROM filler")
                        let nines = (0..<(first + 400)).count { $0 % 7 == 3 }
                        guard let row, try row.int(0) == first + 400,
                            try row.int(1) == (first + 400 - nines) * 5_000 + nines * 4_000
                        else { throw DatabaseError(.corrupted, "the transaction does not read its own changes") }
                        if !isKept { throw TakenBack() }
                    }
                }
                if isKept { try result.get() } else { #expect(throws: TakenBack.self) { try result.get() } }
                if isKept { kept += 400 }
                // Another connection reads this.
                let seen = try await database.read { try $0.queryOne("SELECT COUNT(*) FROM filler")?.int(0) }
                #expect(seen == kept)
            }
        }
    }
}
