import BlobStorage
import Database
import Foundation
import Logging
import StoreWire

/// The databases of a store as backups and restores see them, beside a running server or without one.
package struct StorePlace: Sendable {
    /// The place of the databases.
    package let location: StoreDatabases.Location

    /// The databases in the order in which a backup copies files. The rows of both stores refer to rows of `apps`,
    /// which are never removed. So `apps` is copied last.
    package static let names = ["sandbox", "production", "apps"]

    /// Names the databases. Nothing is opened.
    package init(_ location: StoreDatabases.Location) { self.location = location }

    /// The names of the PostgreSQL schemas, in the order of ``names``; empty for SQLite.
    package var schemas: [String] {
        guard case .postgresql(_, let prefix) = location else { return [] }
        return Self.names.map { "\(prefix)_\($0)" }
    }

    private func database(_ name: String, connections: Int = 1) -> DatabaseLocation {
        switch location {
        case .folder(let folder): .sqlite(path: Self.file(name, in: folder).path)
        case .postgresql(let url, let prefix):
            .postgresql(url: url, schema: "\(prefix)_\(name)", connections: connections)
        }
    }

    /// The SQLite file of a database in a folder.
    package static func file(_ name: String, in folder: URL) -> URL { folder.appendingPathComponent("\(name).sqlite") }

    // MARK: SQLite

    /// Copies the files of a folder as each stands at one moment, also while a server uses them.
    /// - Throws: ``DatabaseError``.
    package static func copy(_ folder: URL, to target: URL) async throws {
        for name in names {
            try await SQLiteCopy.make(of: file(name, in: folder).path, at: file(name, in: target).path)
        }
        try await check(target)
    }

    /// Checks that the files of a folder are whole databases.
    /// - Throws: ``DatabaseError`` `corrupted`.
    package static func check(_ folder: URL) async throws {
        for name in names { try await SQLiteCopy.check(file(name, in: folder).path) }
    }

    // MARK: PostgreSQL

    /// The PostgreSQL table of ``Claims``; empty for SQLite.
    package var claims: [(schema: String, table: String)] {
        guard case .postgresql(_, let prefix) = location else { return [] }
        return [("\(prefix)_apps", "claims")]
    }

    /// Runs `body` while no process of the store can use the schemas.
    /// - Throws: ``DatabasesInUse`` when one uses them; ``DatabaseError``; the errors of `body`.
    package func whileAlone<T>(logger: Logger, _ body: () async throws -> T) async throws -> T {
        let lock: SoleUse
        do {
            // Processes that share the store hold the same lock, shared.
            lock = try await SoleUse(of: database("apps"), logger: logger)
        } catch let error as DatabaseError where error.code == .inUse {
            throw DatabasesInUse(owner: error.detail, error: error)
        }
        do {
            let result = try await body()
            await lock.giveUp()
            return result
        } catch {
            await lock.giveUp()
            throw error
        }
    }

    // MARK: Contents

    /// The content that the databases name. Changes nothing in PostgreSQL, also not the version of the tables. Files
    /// must be copies that nobody uses; only that of `apps` is needed.
    /// - Throws: ``DatabaseError`` `olderSchema`, `newerSchema` when another version of the program runs on them.
    package func content(logger: Logger) async throws -> [StoredContent] {
        try await withApps(logger) { apps in try await apps.read { try StoredContent.all($0) } }
    }

    /// Checks that a key is that of a PostgreSQL store: its own if the store's secrets are sealed, none if not. Changes
    /// nothing.
    /// - Throws: ``StoreSecretsError``: `store_key_missing`, `store_key_wrong`, `store_key_unused`, `secret_damaged`;
    ///   ``DatabaseError``.
    package func check(key: StoreKey?, logger: Logger) async throws {
        try await withApps(logger) { try await StoreSecrets.check(key, in: $0) }
    }

    /// Gives a command the claims of the processes that share a PostgreSQL store.
    /// - Parameter now: the machine's clock, in milliseconds since 1970.
    /// - Throws: ``DatabaseError``; the errors of `body`.
    package func withClaims<T>(
        now: @escaping @Sendable () -> Int64, logger: Logger, _ body: (Claims) async throws -> T
    ) async throws -> T {
        try await withApps(logger) { try await body(Claims($0, holder: UUID(), now: now)) }
    }

    /// Opens the database `apps`, and changes nothing in PostgreSQL.
    private func withApps<T>(_ logger: Logger, _ body: (Database) async throws -> T) async throws -> T {
        let isCopy = schemas.isEmpty
        let apps = try await Database.open(
            database("apps"), migrations: AppSchema.migrations, mayMigrate: isCopy, logger: logger)
        do {
            let result = try await body(apps)
            await apps.close()
            return result
        } catch {
            await apps.close()
            throw error
        }
    }

    /// The contents of databases that a restore has loaded.
    package struct Proof: Sendable {
        /// The content that they name.
        package var content: [StoredContent]
        /// The reason why the ledger is not whole; nil when it is.
        package var problem: String?
    }

    /// Opens databases that a restore has loaded and nobody uses yet, brings their tables up to date, and checks the
    /// ledgers: every purchase has its transaction, except free ones of the sandbox. Removes uploads in progress, whose
    /// bytes no backup has.
    /// - Parameter key: the store's key; nil for a store without one.
    /// - Throws: ``DatabaseError``; ``StoreSecretsError`` unless the key is that of the secrets, or no secret is sealed
    ///   and there is no key.
    package func prove(key: StoreKey?, logger: Logger) async throws -> Proof {
        let databases = try await StoreDatabases.open(location, sharing: nil, logger: logger)
        do {
            if case .postgresql = location { try await StoreSecrets.check(key, in: databases.apps) }
            var problem: String?
            for (environment, database) in [
                (StoreEnvironment.sandbox, databases.sandbox), (.production, databases.production),
            ] {
                guard let key = try await database.read({ try Purchase.keyWithoutTransaction(in: environment, $0) })
                else { continue }
                problem = "The purchase \(key) of \(environment.rawValue.lowercased()) has no transaction."
            }
            let content = try await databases.apps.write { connection in
                for upload in try ContentUpload.open(connection) {
                    try upload.remove(connection)
                }
                return try StoredContent.all(connection)
            }
            await databases.close()
            return Proof(content: content, problem: problem)
        } catch {
            await databases.close()
            throw error
        }
    }
}

/// Bytes that the blob storage keeps for a store: a version of hosted content, or the file of an item.
package struct StoredContent: Sendable, Hashable {
    /// The SHA-256.
    package var digest: BlobDigest
    /// The size in bytes.
    package var size: Int64

    /// Everything that the tables name: versions that were not removed, and items' files.
    static func all(_ connection: Connection) throws -> [StoredContent] {
        let all = try HostedVersion.contents(connection) + ItemBlob.contents(connection)
        return Set(all).sorted { $0.digest.hexadecimal < $1.digest.hexadecimal }
    }
}
