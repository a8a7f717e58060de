internal import CornerstoreSQLite
import Foundation
import Logging
import Synchronization

/// The SQLite engine: a writer thread that commits transactions in batches, reader threads, and a queue that moves the
/// log into the file.
final class SQLiteEngine: Engine {
    let reads: JobQueue
    let writes: JobQueue
    /// A write transaction never conflicts with another: one thread runs them all.
    var repeated: Int { 0 }
    /// How long a statement waits for another connection's lock, in milliseconds.
    static let patience = SQLiteConnection.patience
    /// How long opening the file waits for another process that may be applying migrations, in milliseconds.
    private static let openingPatience: Int32 = 30_000
    /// Whether SQLite accepted to count no memory. Evaluated before the first connection.
    private static let countsNoMemory = SQLiteConnection.stopCountingMemory()
    private let threads = DatabaseThreads()
    private let checkpointer: SQLiteCheckpointer
    /// The writer's connection. It opens before the other connections and closes after them.
    private let writing: Mutex<SQLiteSession>

    /// Opens the file, applies the migrations and starts the threads. Blocks.
    init(
        path: String, migrations: [Migration], limits: Database.Limits, settings: SQLiteSettings, logger: Logger
    ) throws {
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        writes = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let file = try Self.makePrivate(path)
        checkpointer = SQLiteCheckpointer(file, settings, logger)
        writing = Mutex(try Self.open(file, settings, logger))
        try writing.withLock { session in
            // The first transaction also opens the log, which this connection removes at the end.
            try SchemaHistory(migrations: migrations, logger: logger).apply { try session.migrate($0) }
            session.setPatience(milliseconds: Self.patience)
        }
        start(file, limits, settings, logger)
    }

    private func start(_ file: String, _ limits: Database.Limits, _ settings: SQLiteSettings, _ logger: Logger) {
        threads.start("sqlite.writer") { [self] in
            writing.withLock { session in
                var log = SQLiteLog(session, checkpointer, settings, logger)
                SQLiteWriter(session, writes, settings, longest: limits.change).run { log.keepShort() }
            }
            checkpointer.close()
        }
        for number in 1...settings.readers {
            threads.start("sqlite.reader.\(number)") { [reads] in
                let reader = SQLiteReader(file, settings)
                while let job = reads.next() { reader.perform(job) }
            }
        }
    }

    func ended() async {
        await threads.ended()
        // Closing the last connection moves the log into the file.
        writing.withLock { $0.close() }
    }

    /// Opens the writer's connection and turns on the write-ahead log.
    private static func open(
        _ file: String, _ settings: SQLiteSettings, _ logger: Logger
    ) throws -> sending SQLiteSession {
        _ = countsNoMemory
        let session = try SQLiteSession(path: file, .readWrite, cache: settings.writerCache)
        session.setPatience(milliseconds: openingPatience)
        try useWriteAheadLog(session, logger)
        // When the log restarts after long reads made it grow, SQLite cuts its file to this size.
        try session.run("PRAGMA journal_size_limit = \(settings.longestLog * 4_096)")
        if let pages = settings.maximumPages {
            try session.run("PRAGMA max_page_count = \(pages)")
        }
        return session
    }

    /// Turns on the write-ahead log. When several connections do this at the same moment, each holds a lock for which
    /// another waits, so SQLite refuses some of them at once, without waiting. These try again.
    private static func useWriteAheadLog(_ session: SQLiteSession, _ logger: Logger) throws(DatabaseError) {
        // Only pauses count, as in SQLite's own waiting, so that a standstill of the machine does not use up the time.
        var left = openingPatience
        while true {
            do {
                return try session.useWriteAheadLog()
            } catch  where error.code == .busy && left > 0 {
                if left == openingPatience { logger.info("another connection opens the database file; trying again") }
                let pause = Int32.random(in: 1...10)
                left -= pause
                usleep(UInt32(pause) * 1_000)
            }
        }
    }

    /// Creates the file before SQLite does, or changes its mode, so that only its owner can read it. SQLite gives the
    /// log the same mode. Returns the full path.
    private static func makePrivate(_ path: String) throws -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "the path of the database file is empty or contains a NUL")
        }
        let file = URL(fileURLWithPath: path).path
        // Do not open an existing file: closing it would release all locks that this process holds on it
        // (https://www.sqlite.org/howtocorrupt.html, section 2.2).
        let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            _ = fchmod(descriptor, 0o600)
            Foundation.close(descriptor)
            return file
        }
        guard errno == EEXIST, access(file, R_OK | W_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(.unavailable, "cannot open \(file): \(reason); its folder must exist and be writable")
        }
        var status = stat()
        guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw DatabaseError(.unavailable, "cannot open \(file): it is not a regular file")
        }
        _ = chmod(file, 0o600)
        return file
    }
}
