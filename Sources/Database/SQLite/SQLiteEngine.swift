import Foundation
internal import GRDB
import Logging

/// SQLite through GRDB: one writing thread that commits transactions in batches, and a few that read.
final class SQLiteEngine: Engine {
    let reads: JobQueue
    let writes: JobQueue
    private let threads = DatabaseThreads()
    private let pool: DatabasePool

    /// Opens the file, applies the migrations and starts the threads. Blocks.
    init(
        path: String, migrations: [Migration], limits: Database.Limits, settings: SQLiteSettings, logger: Logger
    ) throws {
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        writes = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        pool = try Self.open(path, settings)
        let texts = SQLTextCache()
        try Self.migrate(pool, texts, SchemaHistory(migrations: migrations, logger: logger))
        start(texts, settings)
    }

    private func start(_ texts: SQLTextCache, _ settings: SQLiteSettings) {
        let writer = SQLiteWriter(pool: pool, queue: writes, texts: texts, settings: settings)
        threads.start("sqlite.writer") { writer.run() }
        for number in 1...settings.readers {
            threads.start("sqlite.reader.\(number)") { [pool, reads] in
                while let job = reads.next() {
                    Self.read(job, pool, texts)
                }
            }
        }
    }

    private static func read(_ job: Job, _ pool: DatabasePool, _ texts: SQLTextCache) {
        do {
            let completion = try pool.read { database in
                try job.run(on: Connection(SQLiteSession(database, texts)))
            }
            completion()
        } catch let error as GRDB.DatabaseError {
            job.fail(DatabaseError(error))
        } catch {
            job.fail(error)
        }
    }

    func ended() async {
        await threads.ended()
        // Closing the last connection folds the log into the file. It can fail only if it was closed before.
        try? pool.close()
    }

    private static func migrate(_ pool: DatabasePool, _ texts: SQLTextCache, _ history: SchemaHistory) throws {
        try pool.writeWithoutTransaction { database in
            let transaction = SQLiteTransaction(database, texts)
            try history.apply { body in try transaction.run(body) }
        }
    }

    private static func open(_ path: String, _ settings: SQLiteSettings) throws -> DatabasePool {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DatabaseError(.invalidLocation, "the path of the database file is empty or has a NUL in it")
        }
        let file = URL(fileURLWithPath: path).path
        try makePrivate(file)
        var configuration = Configuration()
        configuration.label = "cornerstore"
        configuration.maximumReaderCount = settings.readers
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = true
        // A transaction that SQLite could not roll back must be an error here, not the end of the process.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -\(settings.readerCache)")
        }
        let pool = try DatabasePool(path: file, configuration: configuration)
        try pool.writeWithoutTransaction { database in
            // GRDB sets NORMAL, which may lose the last transactions with the power.
            try database.execute(sql: "PRAGMA synchronous = FULL; PRAGMA cache_size = -\(settings.writerCache)")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(settings.checkpointPages)")
            if let pages = settings.maximumPages {
                try database.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
        }
        return pool
    }

    /// Makes the file before SQLite does, readable by its owner alone; its companions take over the mode.
    private static func makePrivate(_ file: String) throws {
        let descriptor = Foundation.open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw DatabaseError(.unavailable, "cannot open \(file): \(reason); its folder must exist and be writable")
        }
        _ = fchmod(descriptor, 0o600)
        Foundation.close(descriptor)
    }
}
