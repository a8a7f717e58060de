import Foundation
import GRDBSQLite
import Synchronization
import TestSupport
import Testing

@testable import Database

/// The log in long pieces: the same file as the system's own, once somebody may look at it.
@Suite struct SQLiteLogFileTests {
    /// Runs a test with the path of a log; SQLite gives it the mode of the file that it belongs to.
    private func withLog(_ body: (OpenLog, String) throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            try Data().write(to: directory.url.appending(path: "store"))
            let path = directory.path("store-wal")
            try body(try OpenLog(path), path)
        }
    }

    private func size(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    @Test func whatIsWrittenReachesTheFileWithTheFlush() async throws {
        try await withLog { log, path throws in
            var whole: [UInt8] = []
            for page in 0..<60 {
                let bytes = [UInt8](repeating: UInt8(page), count: page.isMultiple(of: 2) ? 24 : 4_096)
                #expect(log.write(bytes, at: whole.count) == SQLITE_OK)
                whole += bytes
            }
            #expect(try size(path) == 0, "nothing is written piece by piece")
            #expect(log.flush() == SQLITE_OK)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(whole))
        }
    }

    @Test func withoutPowersafeOverwriteNothingWaits() async throws {
        try await TemporaryDirectory.with { directory in
            try Data().write(to: directory.url.appending(path: "store"))
            let path = directory.path("store-wal")
            let log = try OpenLog(path, isPowersafe: false)
            #expect(log.write([1, 2, 3], at: 0) == SQLITE_OK)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data([1, 2, 3]))
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func anyOrderOfCallsMakesTheSameFile(seed: UInt64) async throws {
        try await withLog { log, path throws in
            var random = SeededGenerator(seed: seed)
            var model: [UInt8] = []
            for _ in 0..<400 {
                switch Int.random(in: 0..<20, using: &random) {
                case 0:
                    model.removeLast(model.count - Int.random(in: 0...model.count, using: &random))
                    try #require(log.truncate(to: model.count) == SQLITE_OK)
                case 1:
                    let (code, size) = log.size()
                    try #require(code == SQLITE_OK && size == model.count)
                case 2:
                    try #require(log.flush() == SQLITE_OK)
                    try #require(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(model))
                case 3...5:
                    let offset = Int.random(in: 0...model.count, using: &random)
                    let count = Int.random(in: 1...5_000, using: &random)
                    let (code, bytes) = log.read(count, at: offset)
                    let there = Array(model[offset...].prefix(count))
                    // SQLite fills with zeros what lies behind the end (SQLITE_IOERR_SHORT_READ).
                    try #require(code == (there.count == count ? SQLITE_OK : SQLITE_IOERR | 2 << 8))
                    try #require(bytes == there + [UInt8](repeating: 0, count: count - there.count))
                case let kind:
                    // Mostly one behind the other, at times over what is there, now and then more than fits.
                    let offset = kind < 8 ? Int.random(in: 0...model.count, using: &random) : model.count
                    let count =
                        kind == 6
                        ? Int.random(in: 100_000...700_000, using: &random)
                        : Int.random(in: 1...5_000, using: &random)
                    let bytes = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count)
                    try #require(log.write(bytes, at: offset) == SQLITE_OK)
                    model.replaceSubrange(offset..<min(offset + count, model.count), with: bytes)
                }
            }
            try #require(log.flush() == SQLITE_OK)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(model))
        }
    }

    @Test func aFlushTellsOfAWriteThatFailed() throws {
        let log = try OpenLog("/dev/full")
        #expect(log.write([UInt8](repeating: 7, count: 100), at: 0) == SQLITE_OK)
        #expect(log.flush() == SQLITE_FULL)
        #expect(log.size().code == SQLITE_OK, "what could not be written is forgotten")
        #expect(log.write([UInt8](repeating: 7, count: 100), at: 0) == SQLITE_OK)
        #expect(log.write([UInt8](repeating: 7, count: 100), at: 5_000) == SQLITE_FULL)
        #expect(log.write([UInt8](repeating: 7, count: 100), at: 0) == SQLITE_OK)
        #expect(log.read(10, at: 0).code == SQLITE_IOERR, "SQLite must give up the transaction, not the statement")
    }

    // MARK: As a database's log

    private static let table = Migration(
        1, "filler", ["CREATE TABLE filler (id BIGINT NOT NULL PRIMARY KEY, content BYTEA NOT NULL)"])

    private func withDatabase(_ body: (Database, String) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.url.resolvingSymlinksInPath().appending(path: "store.sqlite").path
            var settings = SQLiteSettings()
            settings.writerCache = 64
            let database = try await Database.open(
                .sqlite(path: path), migrations: [Self.table], limits: Database.Limits(), sqlite: settings,
                logger: .silent)
            let result = await Result.of { try await body(database, path) }
            await database.close()
            try result.get()
            try await SQLiteCopy.check(path)
        }
    }

    private static func insert(_ id: Int, _ size: Int = 9_000) -> @Sendable (Connection) throws -> Void {
        {
            try $0.execute(
                "INSERT INTO filler VALUES ($1, $2)",
                [id, [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: size)])
        }
    }

    private func ids(_ database: Database) async throws -> [Int] {
        try await database.read { try $0.query("SELECT id FROM filler ORDER BY id").map { try $0.int(0) } }
    }

    /// Nothing of a transaction may be in the log before its commit, however small the cache is.
    @Test func aCommitWritesTheLogInFewPiecesAndNothingElseDoes() async throws {
        try await withDatabase { database, path async throws in
            let writes = try WatchedWrites(path + "-wal")
            let before = try await database.write { connection in
                for id in 0..<100 { try Self.insert(id)(connection) }
                _ = try connection.query("SELECT id, content FROM filler")
                return writes.count
            }
            #expect(before == 0)
            // 100 rows of three pages and some: more than 300 pages in pieces of at most 120 KiB, and the log's header.
            #expect((8...20).contains(writes.count), "\(writes.count)")
            let after = writes.count
            struct TakenBack: Error {}
            await #expect(throws: TakenBack.self) {
                try await database.write { connection in
                    for id in 100..<200 { try Self.insert(id)(connection) }
                    throw TakenBack()
                }
            }
            #expect(writes.count == after)
            #expect(try await ids(database) == Array(0..<100))
        }
    }

    @Test func aNewDatabaseThatIsOnlyReadLeavesNoLog() async throws {
        try await withDatabase { database, path async throws in
            #expect(try await ids(database) == [])
            await database.close()
            for companion in ["-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: path + companion)) }
        }
    }

    /// Another process may write in between, at the same places of the log.
    @Test func whatIsTakenBackIsNotWrittenOverAnothersCommit() async throws {
        try await withDatabase { database, path async throws in
            let other = try await Database.open(.sqlite(path: path), migrations: [Self.table], logger: .silent)
            struct TakenBack: Error {}
            for round in 0..<10 {
                await #expect(throws: TakenBack.self) {
                    try await database.write { connection in
                        for id in 0..<100 { try Self.insert(1_000 + id)(connection) }
                        throw TakenBack()
                    }
                }
                try await other.write(Self.insert(round))
                try await database.write { _ = try $0.query("SELECT id, content FROM filler") }
                #expect(try await ids(other) == Array(0...round))
                if !round.isMultiple(of: 3) { continue }
                try await database.write(Self.insert(100 + round))
                try await database.write { try $0.execute("DELETE FROM filler WHERE id = $1", [100 + round]) }
            }
            await other.close()
        }
    }

    @Test func aCommitThatTheLogHasNoRoomForIsRefusedAndLeavesNothing() async throws {
        try await withDatabase { database, path async throws in
            let log = try WatchedWrites(path + "-wal")
            try await database.write(Self.insert(1))
            log.setFull(true)
            for id in 2...4 {
                await expect(.full) { try await database.write(Self.insert(id, id * 500_000)) }
                #expect(try await ids(database) == [1])
            }
            log.setFull(false)
            try await database.write(Self.insert(5))
            #expect(try await ids(database) == [1, 5])
        }
    }

    @Test func transactionsLargerThanTheCacheReadWhatTheyWroteAndTakeItBack() async throws {
        try await withDatabase { database, _ async throws in
            struct TakenBack: Error {}
            var kept = 0
            for round in 0..<6 {
                let isKept = !round.isMultiple(of: 3)
                let first = kept
                let result = await Result.of {
                    try await database.write { connection in
                        for id in first..<(first + 400) {
                            try connection.execute(
                                "INSERT INTO filler VALUES ($1, $2)",
                                [id, [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: 5_000)])
                        }
                        // Over pages that earlier rounds left in the log, and those of this one.
                        try connection.execute(
                            "UPDATE filler SET content = $1 WHERE id % 7 = 3", [[UInt8](repeating: 9, count: 4_000)])
                        let row = try connection.queryOne(
                            "SELECT COUNT(*), CAST(SUM(LENGTH(content)) AS BIGINT) FROM filler")
                        let nines = (0..<(first + 400)).count { $0 % 7 == 3 }
                        guard let row, try row.int(0) == first + 400,
                            try row.int(1) == (first + 400 - nines) * 5_000 + nines * 4_000
                        else { throw DatabaseError(.corrupted, "it does not read what it wrote") }
                        if !isKept { throw TakenBack() }
                    }
                }
                if isKept { try result.get() } else { #expect(throws: TakenBack.self) { try result.get() } }
                if isKept { kept += 400 }
                // By another connection, which has the file alone.
                let seen = try await database.read { try $0.queryOne("SELECT COUNT(*) FROM filler")?.int(0) }
                #expect(seen == kept)
            }
        }
    }
}
