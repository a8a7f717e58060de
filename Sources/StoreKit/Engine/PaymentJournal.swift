internal import CornerstoreSQLite
import Foundation
import StoreWire
import Synchronization

/// Stores the queue's entries across launches.
protocol PaymentJournal: Sendable {
    /// All entries, in the queue's order.
    func load() throws -> [PaymentQueueEntry]
    /// Writes the entries, new or changed, all or none; on return they survive a loss of power.
    ///
    /// - Parameter isGate: Whether the app learns of these entries only after the call. The call then deletes finish
    ///   notes under their keys, which belong to an earlier transaction.
    func save(_ entries: [PaymentQueueEntry], isGate: Bool) throws
    /// Deletes entries.
    func forget(_ keys: [UUID]) throws
    /// Writes a payment that was just added. Unlike ``save(_:isGate:)`` it does not wait for the disk: on return the
    /// entry survives the end of the process, but not yet a loss of power.
    func note(added entry: PaymentQueueEntry) throws
    /// Writes that the app finished a transaction, as durably as ``note(added:)``. ``load()`` then gives the entry as
    /// `finishing`, or leaves out a failed one.
    func note(finished key: UUID) throws
    /// Closes the files.
    func close()
}

/// Stores the downloads that the app has begun across launches.
protocol DownloadJournal: Sendable {
    /// All entries except those that cannot be read: their content can be downloaded again.
    func loadDownloads() throws -> [DownloadEntry]
    /// Writes the entries, new or changed, all or none.
    func save(downloads: [DownloadEntry]) throws
    /// Deletes entries.
    func forget(downloads: [TransactionID]) throws
}

/// Stores nothing. For a queue that refuses all payments.
struct NoJournal: PaymentJournal {
    func load() throws -> [PaymentQueueEntry] { [] }
    func save(_ entries: [PaymentQueueEntry], isGate: Bool) throws {}
    func forget(_ keys: [UUID]) throws {}
    func note(added entry: PaymentQueueEntry) throws {}
    func note(finished key: UUID) throws {}
    func close() {}
}

/// The journal in an SQLite file, with a write-ahead log that is synced at every commit.
final class SQLitePaymentJournal: PaymentJournal {
    let database: Mutex<SQLiteConnection>
    private let lock: FolderLock

    /// Opens the journal in `folder`, locks it against other processes and reads it. One that is damaged is set aside,
    /// and a new one begun: what was paid comes back with the store's list of unfinished transactions.
    ///
    /// - Throws: ``DeviceError``.
    static func opened(
        in folder: URL, name: String, diagnostics: (String) -> Void
    ) throws -> (journal: SQLitePaymentJournal, entries: [PaymentQueueEntry]) {
        let journal = try SQLitePaymentJournal(folder: folder, name: name, diagnostics: diagnostics)
        let file = folder.appendingPathComponent(name)
        do {
            let entries = try journal.load()
            _ = try journal.loadDownloads()
            return (journal, entries)
        } catch {
            journal.close()
            guard isDamage(error) else {
                throw DeviceError(code: .journalUnusable, detail: "cannot read the journal \(file.path): \(error)")
            }
        }
        setAside(file, diagnostics)
        return (try SQLitePaymentJournal(folder: folder, name: name, diagnostics: diagnostics), [])
    }

    /// Opens the journal in `folder` and locks it against other processes. A file that is not a database is set
    /// aside, and a new one begun.
    ///
    /// - Throws: ``DeviceError``.
    init(folder: URL, name: String, diagnostics: (String) -> Void) throws {
        lock = try FolderLock(folder)
        BoundedFile.removeLeftovers(in: folder)
        let file = folder.appendingPathComponent(name)
        do {
            database = Mutex(try Self.open(file))
        } catch  where Self.isDamage(error) {
            Self.setAside(file, diagnostics)
            do { database = Mutex(try Self.open(file)) } catch { throw Self.unusable(file, error) }
        } catch {
            throw Self.unusable(file, error)
        }
    }

    /// Whether a file's contents are at fault, and trying again will not help.
    private static func isDamage(_ error: any Error) -> Bool {
        guard let error = error as? SQLiteError else { return error is DecodingError }
        return error.code == .damaged
    }

    /// Renames a damaged journal, so that it can be looked at later.
    private static func setAside(_ file: URL, _ diagnostics: (String) -> Void) {
        let aside = file.appendingPathExtension("damaged-\(UUID().uuidString)")
        diagnostics("the journal \(file.path) is damaged; it is set aside as \(aside.lastPathComponent)")
        for suffix in ["", "-wal", "-shm"] { rename(file.path + suffix, aside.path + suffix) }
    }

    private static func unusable(_ file: URL, _ error: any Error) -> DeviceError {
        error as? DeviceError
            ?? DeviceError(code: .journalUnusable, detail: "cannot open the journal \(file.path): \(error)")
    }

    /// 1: the first. 2: entries may be restored ones, which an older program could not read. 3: downloads. 4: notes of
    /// what the app finished. 5: JSON's names for identifiers end in `Id`.
    private static let version = 5

    private static func open(_ file: URL) throws -> sending SQLiteConnection {
        let connection = try SQLiteConnection(path: file.path, .create)
        try connection.useWriteAheadLog()
        try connection.transaction {
            let found = try userVersion(connection)
            guard found <= version else {
                throw DeviceError(
                    code: .journalUnusable,
                    detail:
                        "\(file.path) is of version \(found), newer than this program's \(version); update the program")
            }
            guard found < version else { return }
            for statement in schema { try connection.run(statement) }
            if (1..<5).contains(found) { try renameIdentifiers(connection) }
        }
        return connection
    }

    /// Renames the members of entries that versions before 5 wrote. JSON escapes the quotes of a text, so a replaced
    /// name is never a text's.
    private static func renameIdentifiers(_ connection: SQLiteConnection) throws {
        for name in ["transaction", "originalTransaction", "bundle", "product", "offer", "key"] {
            try connection.run(
                """
                UPDATE entry SET body =
                    CAST(replace(CAST(body AS TEXT), '"\(name)ID":', '"\(name)Id":') AS BLOB)
                """)
        }
    }

    private static func userVersion(_ connection: SQLiteConnection) throws -> Int64 {
        let statement = try connection.prepare("PRAGMA user_version")
        return try statement.step() ? statement.int64(0) : 0
    }

    private static let schema = [
        """
        CREATE TABLE IF NOT EXISTS entry (
            key TEXT PRIMARY KEY NOT NULL,
            position INTEGER NOT NULL,
            body BLOB NOT NULL
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS download (
            id INTEGER PRIMARY KEY NOT NULL,
            body BLOB NOT NULL
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS finished (
            key TEXT PRIMARY KEY NOT NULL
        ) WITHOUT ROWID
        """,
        "PRAGMA user_version = \(version)",
    ]

    /// Runs `body` in one transaction, which is on the disk when this returns.
    func transaction<T: Sendable>(_ body: @Sendable (SQLiteConnection) throws -> T) throws -> T {
        try database.withLock { connection in
            try connection.beginWriting()
            do {
                let result = try body(connection)
                try connection.commit()
                return result
            } catch {
                connection.rollback()
                throw error
            }
        }
    }

    func load() throws -> [PaymentQueueEntry] {
        try transaction { connection in
            let finished = Set(try Self.all("SELECT key FROM finished", connection) { try $0.text(0) })
            let bodies = try Self.all("SELECT body FROM entry ORDER BY position", connection) { Data($0.bytes(0)) }
            let decoder = JSONDecoder()
            var over: [UUID] = []
            let entries = try bodies.compactMap { body -> PaymentQueueEntry? in
                var entry = try decoder.decode(PaymentQueueEntry.self, from: body)
                guard finished.contains(entry.key.uuidString) else { return entry }
                switch entry.phase {
                case .purchased, .restored, .finishing:
                    entry.phase = .finishing
                    return entry
                case .queued, .confirming, .sending, .deferred, .collecting, .failed:
                    // The app finished a failed transaction. Earlier phases mean that its failure could not be saved.
                    over.append(entry.key)
                    return nil
                }
            }
            if !finished.isEmpty {
                try Self.forget(over, connection)
                try connection.run("DELETE FROM finished WHERE key NOT IN (SELECT key FROM entry)")
            }
            return entries
        }
    }

    /// Reads all rows of a statement.
    static func all<T>(
        _ sql: String, _ connection: SQLiteConnection, _ read: (SQLiteStatement) throws -> T
    ) throws -> [T] {
        let statement = try connection.prepare(sql)
        var rows: [T] = []
        while try statement.step() { rows.append(try read(statement)) }
        return rows
    }

    func save(_ entries: [PaymentQueueEntry], isGate: Bool) throws {
        let rows = try Self.rows(entries)
        try transaction { connection in
            try Self.insert(rows, connection)
            let statement = try connection.statement("DELETE FROM finished WHERE key = ?")
            for (entry, _) in rows where isGate || entry.phase == .finishing {
                try statement.bind(entry.key.uuidString, at: 1)
                try statement.run()
            }
        }
    }

    private static func rows(_ entries: [PaymentQueueEntry]) throws -> [(PaymentQueueEntry, Data)] {
        let encoder = JSONEncoder()
        return try entries.map { ($0, try encoder.encode($0)) }
    }

    private static func insert(_ rows: [(PaymentQueueEntry, Data)], _ connection: SQLiteConnection) throws {
        let statement = try connection.statement(
            """
            INSERT INTO entry (key, position, body) VALUES (?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET position = excluded.position, body = excluded.body
            """)
        for (entry, body) in rows {
            try statement.bind(entry.key.uuidString, at: 1)
            try statement.bind(entry.position, at: 2)
            try statement.bind([UInt8](body), at: 3)
            try statement.run()
        }
    }

    func forget(_ keys: [UUID]) throws { try transaction { try Self.forget(keys, $0) } }

    private static func forget(_ keys: [UUID], _ connection: SQLiteConnection) throws {
        for table in ["entry", "finished"] {
            let statement = try connection.statement("DELETE FROM \(table) WHERE key = ?")
            for key in keys {
                try statement.bind(key.uuidString, at: 1)
                try statement.run()
            }
        }
    }

    func note(added entry: PaymentQueueEntry) throws {
        let rows = try Self.rows([entry])
        try note { try Self.insert(rows, $0) }
    }

    func note(finished key: UUID) throws {
        try note { connection in
            // Another thread may have finished it before: no note of it must outlive its entry.
            let statement = try connection.statement(
                "INSERT INTO finished (key) SELECT key FROM entry WHERE key = ? ON CONFLICT (key) DO NOTHING")
            try statement.bind(key.uuidString, at: 1)
            try statement.run()
        }
    }

    /// Runs one statement and gives its changes to the system, without waiting for the disk. The next
    /// ``save(_:isGate:)`` waits for both.
    private func note(_ statement: @Sendable (SQLiteConnection) throws -> Void) throws {
        try database.withLock { connection in
            // SQLite sets this when it prepares the statement, so the statement must not be a cached one.
            try connection.run("PRAGMA synchronous = NORMAL")
            do {
                try statement(connection)
            } catch {
                try connection.run("PRAGMA synchronous = FULL")
                throw error
            }
            try connection.run("PRAGMA synchronous = FULL")
        }
    }

    func close() {
        database.withLock { $0.close() }
        lock.release()
    }
}
