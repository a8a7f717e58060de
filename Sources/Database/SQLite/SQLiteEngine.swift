internal import CornerstoreSQLite
import Foundation
import Logging
import Synchronization

/// SQLite: one writing thread that commits transactions in batches, a few that read, and one that
/// moves the log into the file.
final class SQLiteEngine: Engine {
    let reads: JobQueue
    let writes: JobQueue
    /// Milliseconds that a statement waits for another connection's lock.
    static let patience = SQLiteConnection.patience
    /// Milliseconds that an opening of the file waits for another one, which may apply migrations.
    private static let openingPatience: Int32 = 30_000
    /// Whether SQLite agreed to count no memory; asked before the first connection.
    private static let countsNoMemory = SQLiteConnection.stopCountingMemory()
    private let threads = DatabaseThreads()
    private let checkpointer: SQLiteCheckpointer
    /// The connection that writes. It is there before the others open, and closed after them.
    private let writing: Mutex<SQLiteSession>

    /// Opens the file, applies the migrations and starts the threads. Blocks.
    init(
        path: String, migrations: [Migration], limits: Database.Limits, settings: SQLiteSettings, logger: Logger
    ) throws {
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        writes = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let file = try Self.makePrivate(path)
        checkpointer = SQLiteCheckpointer(file, settings, logger)
        writing = Mutex(try Self.open(file, settings))
        try writing.withLock { session in
            // The first transaction also makes the connection hold the log, which it removes at the end.
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
        // Closing the last connection folds the log into the file.
        writing.withLock { $0.close() }
    }

    /// The writing connection; it makes the file a database with a write-ahead log.
    private static func open(_ file: String, _ settings: SQLiteSettings) throws -> sending SQLiteSession {
        _ = countsNoMemory
        let session = try SQLiteSession(path: file, .readWrite, cache: settings.writerCache)
        session.setPatience(milliseconds: openingPatience)
        try keepLog(session)
        // A log that readers made grow is cut when it begins anew.
        try session.run("PRAGMA journal_size_limit = \(settings.longestLog * 4_096)")
        if let pages = settings.maximumPages {
            try session.run("PRAGMA max_page_count = \(pages)")
        }
        return session
    }

    /// Of several connections that do this first at the same moment, SQLite refuses some at once, whatever their
    /// patience: each holds a lock for which another waits. Trying again gives each its turn.
    private static func keepLog(_ session: SQLiteSession) throws(DatabaseError) {
        // Pauses are counted, as SQLite counts its own: a machine that stands still has tried nothing.
        var left = openingPatience
        while true {
            do {
                return try session.useWriteAheadLog()
            } catch  where error.code == .busy && left > 0 {
                let pause = Int32.random(in: 1...10)
                left -= pause
                usleep(UInt32(pause) * 1_000)
            }
        }
    }

    /// Makes the file before SQLite does, readable by its owner alone; its companions take over the mode. Gives its
    /// full path.
    private static func makePrivate(_ path: String) throws -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "the path of the database file is empty or has a NUL in it")
        }
        let file = URL(fileURLWithPath: path).path
        // A file that is there is not opened: to close it again would end all locks that this process has on it
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
            throw DatabaseError(.unavailable, "cannot open \(file): it is not a file")
        }
        _ = chmod(file, 0o600)
        return file
    }
}
