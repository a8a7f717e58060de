import CornerstoreSQLite
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SQLiteConnectionTests {
    private func withConnection(_ body: (SQLiteConnection, String) throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("a.sqlite")
            let connection = try SQLiteConnection(path: path, .create)
            defer { connection.close() }
            try body(connection, path)
        }
    }

    private func code(_ body: () throws -> Void) -> SQLiteError.Code? {
        do { try body() } catch { return (error as? SQLiteError)?.code }
        return nil
    }

    private func integers(_ sql: String, _ connection: SQLiteConnection) throws -> [Int64] {
        let statement = try connection.prepare(sql)
        var found: [Int64] = []
        while try statement.step() { found.append(statement.int64(0)) }
        return found
    }

    @Test func valuesAreReadAsTheyWereBound() async throws {
        try await withConnection { connection, _ in
            let statement = try connection.statement("SELECT ?1, ?2, ?3, ?4, ?5, ?6, 0.5")
            #expect(statement.argumentCount == 6)
            // The first argument is left out, which makes it null.
            try statement.bind(Int64.min, at: 2)
            try statement.bind("", at: 3)
            try statement.bind("a\0\u{1F34E}", at: 4)
            try statement.bind([UInt8](), at: 5)
            try statement.bind([0, 255], at: 6)
            try #require(try statement.step())
            #expect(statement.columnCount == 7)
            #expect((0..<7).map(statement.kind) == [.null, .integer, .text, .text, .bytes, .bytes, .fraction])
            #expect(statement.int64(1) == .min)
            #expect(try statement.text(0) == "" && statement.text(2) == "")
            #expect(try statement.text(3) == "a\0\u{1F34E}")
            #expect(statement.bytes(0) == [] && statement.bytes(4) == [] && statement.bytes(5) == [0, 255])
            #expect(statement.bytes(3) == Array("a\0\u{1F34E}".utf8))
            #expect(try !statement.step())
            statement.reset()
            // Arguments go with the reset.
            try #require(try statement.step())
            #expect(statement.kind(1) == .null)
            statement.reset()
        }
    }

    @Test func changedRowsAreCounted() async throws {
        try await withConnection { connection, _ in
            try connection.run("CREATE TABLE t (a INTEGER PRIMARY KEY)")
            #expect(try connection.prepare("INSERT INTO t VALUES (1), (2), (3)").run() == 3)
            #expect(try connection.prepare("SELECT a FROM t").run() == 0)
            #expect(try connection.prepare("DELETE FROM t WHERE a > 5").run() == 0)
        }
    }

    @Test func statementsEndAtTheDeadline() async throws {
        try await withConnection { connection, path in
            func count(to last: Int) -> String {
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(last)) SELECT COUNT(*) FROM n"
            }
            try connection.run("CREATE TABLE t (a INTEGER)")
            connection.deadline = .now
            #expect(code { try connection.run(count(to: 100_000_000)) } == .interrupted)
            try connection.beginWriting()
            try connection.run("INSERT INTO t VALUES (1)")
            #expect(code { try connection.run("INSERT INTO t \(count(to: 100_000_000))") } == .interrupted)
            #expect(!connection.isInsideTransaction)
            connection.deadline = .now + .seconds(3_600)
            try connection.run("INSERT INTO t \(count(to: 100_000))")
            connection.deadline = nil
            try connection.run("INSERT INTO t \(count(to: 100_001))")
            #expect(try integers("SELECT a FROM t", connection) == [100_000, 100_001])
            // A statement that outlives its connection does not ask it.
            connection.deadline = .now
            let statement = try connection.prepare(count(to: 100_000))
            connection.close()
            #expect(try statement.step())
        }
    }

    @Test func failuresHaveTheirCodes() async throws {
        try await withConnection { connection, path in
            try connection.run(
                "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER NOT NULL CHECK (b < 5), c INTEGER REFERENCES t (a))")
            try connection.run("INSERT INTO t VALUES (1, 1, NULL)")
            let expected: [(String, SQLiteError.Code)] = [
                ("INSERT INTO t VALUES (1, 1, NULL)", .uniqueViolation), ("UPDATE t SET b = 7", .checkViolation),
                ("UPDATE t SET b = NULL", .notNullViolation), ("UPDATE t SET c = 9", .foreignKeyViolation),
                ("SELECT nothing FROM t", .invalidSQL), ("SELECT \"nothing\" FROM t", .invalidSQL), ("", .invalidSQL),
                ("SELECT 1; SELECT 2", .invalidSQL), ("SELECT 1; no statement", .invalidSQL),
                ("INSERT INTO t (a, b) VALUES ('text', 1)", .invalidValue),
            ]
            for (sql, code) in expected { #expect(self.code { try connection.run(sql) } == code, "\(sql)") }
            try connection.run("SELECT 1; -- a comment may follow")
            #expect(code { try connection.prepare("SELECT ?").bind(1, at: 2) } == .invalidSQL)
            #expect(code { try SQLiteConnection(path: path, .readOnly).run("DELETE FROM t") } == .readOnly)
            #expect(code { _ = try SQLiteConnection(path: path + ".missing", .readWrite) } == .unavailable)
            let other = try SQLiteConnection(path: path, .readWrite)
            other.setPatience(milliseconds: 0)
            try connection.transaction { #expect(code { try other.beginWriting() } == .busy) }
            connection.close()
            #expect(code { try connection.run("SELECT 1") } == .closed)
        }
    }

    @Test func aFileThatIsNotADatabaseIsDamaged() async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("notes.txt")
            try Data(repeating: 0x41, count: 10_000).write(to: URL(fileURLWithPath: path))
            #expect(code { try SQLiteConnection(path: path, .readWrite).useWriteAheadLog() } == .damaged)
        }
    }

    @Test func aTransactionIsCommittedCompletelyOrNotAtAll() async throws {
        struct Refusal: Error {}
        try await withConnection { connection, _ in
            try connection.run("CREATE TABLE t (a INTEGER PRIMARY KEY)")
            try connection.transaction {
                try connection.run("INSERT INTO t VALUES (1)")
                #expect(throws: Refusal.self) {
                    try connection.savepoint {
                        try connection.run("INSERT INTO t VALUES (2)")
                        throw Refusal()
                    }
                }
                try connection.savepoint { try connection.run("INSERT INTO t VALUES (3)") }
            }
            #expect(!connection.isInsideTransaction)
            #expect(throws: Refusal.self) {
                try connection.transaction {
                    try connection.run("INSERT INTO t VALUES (4)")
                    throw Refusal()
                }
            }
            #expect(!connection.isInsideTransaction)
            #expect(try integers("SELECT a FROM t", connection) == [1, 3])
        }
    }

    @Test func commitsWaitForTheDiskAndForeignKeysAreChecked() async throws {
        try await withConnection { connection, path in
            try connection.useWriteAheadLog()
            // 2 is FULL. With the log some builds of SQLite take less when nobody says so.
            #expect(try integers("PRAGMA synchronous", connection) == [2])
            #expect(try integers("PRAGMA foreign_keys", connection) == [1])
            try connection.run("CREATE TABLE t (a INTEGER)")
            #expect(FileManager.default.fileExists(atPath: path + "-wal"))
            connection.close()
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        }
    }

    /// SQLite makes a checkpoint by itself at 1000 pages, until the caller takes this over.
    @Test(arguments: [false, true]) func checkpointsAreTheCallersOnceTakenOver(_ isTakenOver: Bool) async throws {
        try await withConnection { connection, path in
            try connection.useWriteAheadLog()
            if isTakenOver { connection.takeOverCheckpoints() }
            try connection.run("CREATE TABLE t (a BLOB)")
            for _ in 0..<3 { try connection.run("INSERT INTO t VALUES (zeroblob(2400000))") }
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            #expect((size > 4_000_000) == !isTakenOver)
            guard isTakenOver else { return }
            #expect(connection.logPages > 1_700)
            #expect(try connection.checkpoint(restarting: true) == connection.logPages)
            try connection.flushFile()
            try connection.run("INSERT INTO t VALUES (1)")
            #expect(connection.logPages < 10, "the log starts again")
        }
    }
}
