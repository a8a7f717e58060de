import Database
import Foundation
import Logging

/// The databases of a store server: what both stores share, the sandbox's and production's. Each is a file, or a schema of one PostgreSQL.
public struct StoreDatabases: Sendable {
    /// Where they are.
    public enum Location: Sendable {
        /// SQLite files in a folder, which is there.
        case folder(URL)
        /// The schemas `PREFIX_apps`, `PREFIX_sandbox` and `PREFIX_production` of one server.
        case postgresql(url: String, schemaPrefix: String)

        /// What a schema's name begins with when nobody says otherwise.
        public static let schemaPrefix = "cornerstore"
    }

    let apps: Database
    let sandbox: Database
    let production: Database
    /// What keeps other stores away from the schemas; nil for files, whose folder is locked.
    var soleUse: SoleUse?

    /// Opens all three, making or migrating what is needed. On PostgreSQL it first takes the schemas for this process alone: what
    /// several stores remember of one database would contradict.
    /// - Throws: ``DatabasesInUse`` when another store works on the schemas; ``DatabaseError``, for a database of a newer program or
    ///   changed by hand, too.
    public static func open(_ location: Location, logger: Logger) async throws -> StoreDatabases {
        guard case .postgresql = location else { return try await open(location, nil, logger) }
        let soleUse: SoleUse
        do {
            soleUse = try await SoleUse(of: location.database("apps", connections: 1), logger: logger)
        } catch let error as DatabaseError where error.code == .inUse {
            throw DatabasesInUse(owner: error.detail)
        }
        do {
            return try await open(location, soleUse, logger)
        } catch {
            await soleUse.giveUp()
            throw error
        }
    }

    private static func open(
        _ location: Location, _ soleUse: SoleUse?, _ logger: Logger
    ) async throws -> StoreDatabases {
        async let apps = Database.open(
            location.database("apps", connections: 2), migrations: AppSchema.migrations, soleUse: soleUse,
            logger: logger)
        async let sandbox = Database.open(
            location.database("sandbox", connections: 16), migrations: StoreSchema.migrations,
            soleUse: soleUse, logger: logger)
        async let production = Database.open(
            location.database("production", connections: 16), migrations: StoreSchema.migrations,
            soleUse: soleUse, logger: logger)
        return try await StoreDatabases(apps: apps, sandbox: sandbox, production: production, soleUse: soleUse)
    }

    /// Whether another store could take the databases while they are open: when the connection breaks that keeps others away.
    public var canBeLost: Bool { soleUse != nil }

    /// Waits until another store has taken the databases. Gives nil when they are closed, when they cannot be lost, or when the task
    /// is cancelled.
    public func whenLost() async -> DatabasesInUse? {
        await soleUse?.whenLost().map { DatabasesInUse(owner: $0.detail) }
    }

    /// Closes them after what is queued.
    public func close() async {
        for database in [apps, sandbox, production] { await database.close() }
        await soleUse?.giveUp()
    }
}

/// Another store works on the same databases.
public struct DatabasesInUse: Error, Sendable, Equatable {
    /// Its session at PostgreSQL, in words: process, machine, and since when.
    public var owner: String
}

extension StoreDatabases.Location {
    fileprivate func database(_ name: String, connections: Int) -> DatabaseLocation {
        switch self {
        case .folder(let folder): .sqlite(path: folder.appendingPathComponent("\(name).sqlite").path)
        case .postgresql(let url, let prefix):
            .postgresql(url: url, schema: "\(prefix)_\(name)", connections: connections)
        }
    }
}
