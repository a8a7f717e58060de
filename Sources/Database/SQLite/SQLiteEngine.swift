import Foundation
import Logging
import Synchronization

/// SQLite: one writing thread that commits transactions in batches, a few that read, and one that tidies the log.
final class SQLiteEngine: Engine {
    let reads: JobQueue
    let writes: JobQueue
    private let threads = DatabaseThreads()
    private let checkpointer: SQLiteCheckpointer
    /// The connection that writes. It is there before the others open, and closed after them.
    private let writing: Mutex<SQLiteConnection>

    /// Opens the file, applies the migrations and starts the threads. Blocks.
    init(
        path: String, migrations: [Migration], limits: Database.Limits, settings: SQLiteSettings, logger: Logger
    ) throws {
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        writes = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let file = try Self.makePrivate(path)
        checkpointer = SQLiteCheckpointer(file, settings, logger)
        writing = Mutex(try Self.open(file, settings))
        try Self.apply(migrations, file, settings, logger)
        // Where the file was empty the writing connection does not hold the log before its first transaction, and nobody would remove it in the end.
        try writing.withLock { session in
            let transaction = SQLiteTransaction(session)
            try transaction.begin()
            try transaction.commit()
        }
        start(file, settings, logger)
    }

    /// On a connection of their own, for a migration may write more than fits into memory.
    private static func apply(
        _ migrations: [Migration], _ file: String, _ settings: SQLiteSettings, _ logger: Logger
    ) throws {
        let session = try SQLiteConnection(path: file, .readWrite, cache: settings.writerCache)
        defer { session.close() }
        let transaction = SQLiteTransaction(session)
        try SchemaHistory(migrations: migrations, logger: logger).apply { body in try transaction.run(body) }
    }

    private func start(_ file: String, _ settings: SQLiteSettings, _ logger: Logger) {
        threads.start("sqlite.log") { [checkpointer] in checkpointer.run() }
        threads.start("sqlite.writer") { [self] in
            writing.withLock { session in
                var log = SQLiteLog(session, checkpointer, settings, logger)
                SQLiteWriter(session, writes, settings).run { log.keepShort() }
            }
            checkpointer.stop()
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
    private static func open(_ file: String, _ settings: SQLiteSettings) throws -> sending SQLiteConnection {
        let session = try SQLiteConnection(path: file, .writer, cache: settings.writerCache)
        try session.run("PRAGMA journal_mode = WAL")
        // A log that readers made grow is cut when it begins anew.
        try session.run("PRAGMA journal_size_limit = \(settings.longestLog * 4_096)")
        if let pages = settings.maximumPages {
            try session.run("PRAGMA max_page_count = \(pages)")
        }
        return session
    }

    /// Makes the file before SQLite does, readable by its owner alone; its companions take over the mode. Gives its full
    /// path.
    private static func makePrivate(_ path: String) throws -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "the path of the database file is empty or has a NUL in it")
        }
        let file = URL(fileURLWithPath: path).path
        let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(.unavailable, "cannot open \(file): \(reason); its folder must exist and be writable")
        }
        _ = fchmod(descriptor, 0o600)
        Foundation.close(descriptor)
        return file
    }
}
