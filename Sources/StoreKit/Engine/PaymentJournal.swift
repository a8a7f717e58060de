import Foundation
import GRDB
import StoreWire

/// Where the queue's entries outlive the process.
protocol PaymentJournal: Sendable {
    /// Everything in it, in the queue's order.
    func load() throws -> [PaymentQueueEntry]
    /// Writes the entries, new or changed, all or none; on return they survive a loss of power.
    func save(_ entries: [PaymentQueueEntry]) throws
    /// Takes these out.
    func forget(_ keys: [UUID]) throws
    /// Lets go of the files.
    func close()
}

/// Where the downloads that the app has begun outlive the process.
protocol DownloadJournal: Sendable {
    /// Everything in it. What cannot be read is left out: it can be downloaded again.
    func loadDownloads() throws -> [DownloadEntry]
    /// Writes the entries, new or changed, all or none.
    func save(downloads: [DownloadEntry]) throws
    /// Takes these out.
    func forget(downloads: [TransactionID]) throws
}

/// Keeps nothing: for a queue that refuses every payment anyway.
struct NoJournal: PaymentJournal {
    func load() throws -> [PaymentQueueEntry] { [] }
    func save(_ entries: [PaymentQueueEntry]) throws {}
    func forget(_ keys: [UUID]) throws {}
    func close() {}
}

/// The journal in an SQLite file, with a write-ahead log that is synced at every commit.
final class SQLitePaymentJournal: PaymentJournal {
    let database: DatabaseQueue
    private let lock: FolderLock

    /// Opens the journal in `folder` and locks it against other processes. A file that is not a database is set
    /// aside, and a new one begun: what was paid comes back with the store's list of unfinished transactions.
    ///
    /// - Throws: ``DeviceError``.
    init(folder: URL, name: String, diagnostics: (String) -> Void) throws {
        lock = try FolderLock(folder)
        BoundedFile.removeLeftovers(in: folder)
        let file = folder.appendingPathComponent(name)
        do {
            database = try Self.open(file)
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            let aside = file.appendingPathExtension("damaged-\(UUID().uuidString)")
            diagnostics("the journal \(file.path) is damaged; it is set aside as \(aside.lastPathComponent)")
            for suffix in ["", "-wal", "-shm"] { rename(file.path + suffix, aside.path + suffix) }
            do { database = try Self.open(file) } catch { throw Self.unusable(file, error) }
        } catch {
            throw Self.unusable(file, error)
        }
    }

    private static func unusable(_ file: URL, _ error: any Error) -> DeviceError {
        error as? DeviceError
            ?? DeviceError(code: .journalUnusable, detail: "cannot open the journal \(file.path): \(error)")
    }

    /// 1: the first. 2: entries may be restored ones, which an older program could not read. 3: downloads.
    private static let version = 3

    private static func open(_ file: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        let database = try DatabaseQueue(path: file.path, configuration: configuration)
        try database.write { db in
            let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            guard found <= version else {
                throw DeviceError(
                    code: .journalUnusable,
                    detail:
                        "\(file.path) is of version \(found), newer than this program's \(version); update the program")
            }
            guard found < version else { return }
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS entry (
                        key TEXT PRIMARY KEY NOT NULL,
                        position INTEGER NOT NULL,
                        body BLOB NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE IF NOT EXISTS download (
                        id INTEGER PRIMARY KEY NOT NULL,
                        body BLOB NOT NULL
                    );
                    PRAGMA user_version = \(version);
                    """)
        }
        return database
    }

    func load() throws -> [PaymentQueueEntry] {
        try database.read { db in
            let decoder = JSONDecoder()
            return try Data.fetchAll(db, sql: "SELECT body FROM entry ORDER BY position").map {
                try decoder.decode(PaymentQueueEntry.self, from: $0)
            }
        }
    }

    func save(_ entries: [PaymentQueueEntry]) throws {
        let encoder = JSONEncoder()
        let rows = try entries.map { ($0, try encoder.encode($0)) }
        try database.write { db in
            let statement = try db.cachedStatement(
                sql: """
                    INSERT INTO entry (key, position, body) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET position = excluded.position, body = excluded.body
                    """)
            for (entry, body) in rows {
                try statement.execute(arguments: [entry.key.uuidString, entry.position, body])
            }
        }
    }

    func forget(_ keys: [UUID]) throws {
        try database.write { db in
            let statement = try db.cachedStatement(sql: "DELETE FROM entry WHERE key = ?")
            for key in keys { try statement.execute(arguments: [key.uuidString]) }
        }
    }

    func close() {
        try? database.close()
        lock.release()
    }
}
