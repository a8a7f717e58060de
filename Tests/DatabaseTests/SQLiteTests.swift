import CornerstoreSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Database

private let table = Migration(
    1, "filler",
    [
        "CREATE TABLE filler (id BIGINT NOT NULL PRIMARY KEY, content BYTEA NOT NULL)",
        """
        CREATE TABLE child (parent BIGINT NOT NULL REFERENCES filler (id) DEFERRABLE INITIALLY DEFERRED)
        """,
    ])

@Suite(.timeLimit(.minutes(1))) struct SQLiteTests {
    private func withDatabase(
        _ settings: SQLiteSettings = SQLiteSettings(), limits: Database.Limits = Database.Limits(),
        _ body: (Database, String) async throws -> Void
    ) async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("store.sqlite")
            let database = try await Database.open(
                .sqlite(path: path), migrations: [table], limits: limits, sqlite: settings, logger: .silent
            )
            let result = await Result.of { try await body(database, path) }
            await database.close()
            try result.get()
        }
    }

    /// Runs the writes as one batch: they pile up while an earlier one holds the writer.
    private func batch(
        _ database: Database, _ writes: [@Sendable (Connection) throws -> Void]
    ) async throws -> [Result<Void, any Error>] {
        let began = Gate()
        let hasWaited = Mutex(false)
        async let blocker: Void = database.write { _ in
            // It is run again where the writes joined its own batch and one of them failed: then none waits any more.
            if hasWaited.withLock({ before in
                defer { before = true }
                return before
            }) {
                return
            }
            began.open()
            blockUntil { database.engine.writes.count >= writes.count }
        }
        try await database.read { _ in began.wait() }
        let results = await withTaskGroup { group in
            for (index, write) in writes.enumerated() {
                group.addTask { (index, await Result.of { try await database.write(write) }) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // One that waited for longer than a write may take has failed, and has held the writer all the same.
        try? await blocker
        return results.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private static func insert(_ id: Int, _ size: Int = 10) -> @Sendable (Connection) throws -> Void {
        { connection in
            try connection.execute(
                "INSERT INTO filler (id, content) VALUES ($1, $2)", [id, [UInt8](repeating: 7, count: size)]
            )
        }
    }

    private func ids(_ database: Database) async throws -> [Int] {
        try await database.read { connection in
            try connection.query("SELECT id FROM filler ORDER BY id").map { try $0.int(0) }
        }
    }

    /// SQLite does not wait here by itself: who makes an empty file a database with a log is refused while another one
    /// is at it.
    @Test func openingANewFileWaitsForAnotherOpening() async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("store.sqlite")
            let other = try SQLiteConnection(path: path, .create)
            defer { other.close() }
            other.setPatience(milliseconds: 60_000)
            try other.beginWriting()
            let log = LogLines()
            async let opening = Database.open(.sqlite(path: path), migrations: [table], logger: log.logger)
            // It was refused once.
            try await until { log.all.contains { $0.text.contains("trying again") } }
            try other.commit()
            let database = try await opening
            try await database.write(Self.insert(1))
            #expect(try await ids(database) == [1])
            await database.close()
        }
    }

    @Test func aFullDiskFailsOnlyTheWrite() async throws {
        var settings = SQLiteSettings()
        settings.maximumPages = 64
        try await withDatabase(settings) { database, _ async throws in
            var acknowledged: [Int] = []
            for id in 0..<200 {
                do {
                    try await database.write(Self.insert(id, 8_000))
                    acknowledged.append(id)
                } catch let error as DatabaseError {
                    #expect(error.code == .full)
                    break
                }
            }
            #expect((5..<100).contains(acknowledged.count))
            #expect(try await ids(database) == acknowledged)
            try await database.write { try $0.execute("DELETE FROM filler WHERE id < 3") }
            try await database.write(Self.insert(1_000, 8_000))
            #expect(try await ids(database) == acknowledged.filter { $0 >= 3 } + [1_000])
        }
    }

    @Test func aTransactionThatFillsTheDiskDoesNotFailItsBatch() async throws {
        var settings = SQLiteSettings()
        settings.maximumPages = 64
        try await withDatabase(settings) { database, _ async throws in
            let results = try await batch(database, [Self.insert(1), Self.insert(2, 1_000_000), Self.insert(3)])
            #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
            #expect(try await ids(database) == [1, 3])
        }
    }

    @Test func aDeferredConstraintFailsOnlyItsTransaction() async throws {
        try await withDatabase { database, _ async throws in
            let orphan: @Sendable (Connection) throws -> Void = { connection in
                try connection.execute("INSERT INTO child (parent) VALUES (99)")
            }
            let results = try await batch(database, [Self.insert(1), orphan, Self.insert(3)])
            #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
            await expect(.foreignKeyViolation) { try results[1].get() }
            #expect(try await ids(database) == [1, 3])
            #expect(try await database.read { try $0.query("SELECT parent FROM child") }.isEmpty)
        }
    }

    @Test func aClosureThatThrowsDoesNotFailItsBatch() async throws {
        struct Refusal: Error {}
        try await withDatabase { database, _ async throws in
            let thrower: @Sendable (Connection) throws -> Void = { connection in
                try Self.insert(2)(connection)
                throw Refusal()
            }
            let again: @Sendable (Connection) throws -> Void = { connection in
                try Self.insert(1)(connection)
            }
            let results = try await batch(database, [Self.insert(1), thrower, again, Self.insert(4)])
            #expect(results.map { (try? $0.get()) != nil }.filter { $0 }.count == 2)
            #expect(throws: Refusal.self) { try results[1].get() }
            // Which of the two with the same key comes first is for the queue to say.
            let errors = [results[0], results[2]].compactMap { result in
                if case .failure(let error) = result { (error as? DatabaseError)?.code } else { nil }
            }
            #expect(errors == [.uniqueViolation])
            #expect(try await ids(database) == [1, 4])
        }
    }

    /// A statement that changes rows undoes the whole batch when it is ended, one that reads does not.
    @Test(arguments: ["INSERT INTO child (parent) ", ""])
    func oneThatTakesTooLongIsAloneInItsBatchAndIsNotRunAgain(change: String) async throws {
        var limits = Database.Limits()
        limits.change = .seconds(2)
        try await withDatabase(limits: limits) { database, _ async throws in
            let runs = Atomic(0)
            let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)"
            let results = try await batch(
                database,
                [
                    Self.insert(1),
                    { connection in
                        runs.add(1, ordering: .relaxed)
                        try connection.execute("\(change)\(numbers) SELECT i FROM n WHERE i < 0")
                    },
                    Self.insert(3),
                ])
            #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
            let error = await expect(.busy) { try results[1].get() }
            #expect(error?.detail.contains("2.0 seconds") == true, "\(error?.detail ?? "")")
            #expect(runs.load(ordering: .relaxed) == 1)
            #expect(try await ids(database) == [1, 3])
        }
    }

    @Test func aBatchIsOneCommit() async throws {
        try await withDatabase { database, path async throws in
            let before = try await commits(database)
            let results = try await batch(database, (1...100).map { Self.insert($0) })
            #expect(results.allSatisfy { (try? $0.get()) != nil })
            #expect(try await ids(database) == Array(1...100))
            // The blocker's batch, and at most a few more for those that came while it was on its way.
            #expect(try await commits(database) - before <= 4)
            #expect(FileManager.default.fileExists(atPath: path + "-wal"))
        }
    }

    /// The file's change counter as SQLite tells it to other connections does not count WAL commits; the log does.
    private func commits(_ database: Database) async throws -> Int {
        // A frame that ends a commit holds the database's size in bytes 4 to 7
        // (https://www.sqlite.org/fileformat2.html#walformat).
        let path = try await database.read { try $0.query("SELECT file FROM pragma_database_list") }[0].string(0)
        let log = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
        return stride(from: 32, to: log.count, by: 24 + 4_096).filter { log[($0 + 4)..<($0 + 8)].contains { $0 != 0 } }
            .count
    }

    @Test func filesAreReadableByTheOwnerOnly() async throws {
        try await withDatabase { database, path async throws in
            try await database.write(Self.insert(1))
            for suffix in ["", "-wal", "-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(suffix)")
            }
        }
    }

    @Test func commitsAreFlushed() async throws {
        try await withDatabase { database, _ async throws in
            let settings = try await database.write { connection in
                try ["synchronous", "foreign_keys"].map {
                    try connection.queryOne("SELECT * FROM pragma_\($0)")?.int(0)
                }
            }
            #expect(settings == [2, 1])
            let mode = try await database.read { try $0.queryOne("SELECT * FROM pragma_journal_mode")?.string(0) }
            #expect(mode == "wal")
        }
    }

    @Test func aFileThatIsNotADatabaseIsRefused() async throws {
        try await TemporaryDirectory.with { directory in
            let path = directory.path("notes.txt")
            try Data(repeating: 0x41, count: 10_000).write(to: URL(fileURLWithPath: path))
            await expect(.corrupted) { try await Database.open(.sqlite(path: path), migrations: [], logger: .silent) }
            for path in [directory.path("missing/store.sqlite"), directory.url.path] {
                await expect(.unavailable) {
                    try await Database.open(.sqlite(path: path), migrations: [], logger: .silent)
                }
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: directory.url.path)
            #expect(attributes[.posixPermissions] as? Int == 0o700, "a folder keeps its mode")
            await expect(.invalidLocation) {
                try await Database.open(.sqlite(path: ""), migrations: [], logger: .silent)
            }
        }
    }

    /// `F_OFD_GETLK` of fcntl(2), which the C library shows only to those who ask for its own names: also the process'
    /// own locks are in its way.
    private static let openFileLock: Int32 = 36

    /// The system ends a process' locks on a file with any descriptor of it that is closed; another process would then
    /// take the log for nobody's.
    @Test func aSecondOpeningKeepsTheLocksOfTheFirst() async throws {
        try await withDatabase { database, path async throws in
            try await database.write(Self.insert(1))
            // Not closed before the end, for that would be the fault itself.
            let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC)
            defer { close(descriptor) }
            func isLocked() throws -> Bool {
                var lock = flock()
                (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
                try #require(fcntl(descriptor, Self.openFileLock, &lock) == 0)
                return lock.l_type != F_UNLCK
            }
            #expect(try isLocked())
            let second = try await Database.open(.sqlite(path: path), migrations: [table], logger: .silent)
            #expect(try isLocked())
            await second.close()
            #expect(try isLocked())
        }
    }

    @Test func acknowledgedWritesSurviveACrash() async throws {
        try await withDatabase { database, path async throws in
            for id in 1...20 { try await database.write(Self.insert(id)) }
            // What lies on disk while the program runs is what a crash would leave.
            try await TemporaryDirectory.with { directory in
                let copy = directory.path("store.sqlite")
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
                }
                let found = try await Database.open(.sqlite(path: copy), migrations: [table], logger: .silent)
                #expect(try await ids(found) == Array(1...20))
                await found.close()
            }
        }
    }
}
