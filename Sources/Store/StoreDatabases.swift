import Database
import Foundation
import Logging

/// The three databases of a store server: one shared by both stores, the sandbox's and production's.
///
/// Each is an SQLite file, or a schema of one PostgreSQL database.
public struct StoreDatabases: Sendable {
    /// The place of the databases.
    public enum Location: Sendable {
        /// SQLite files in an existing folder.
        case folder(URL)
        /// The schemas `PREFIX_apps`, `PREFIX_sandbox` and `PREFIX_production` of one server.
        case postgresql(url: String, schemaPrefix: String)

        /// The default prefix of the schemas' names.
        public static let schemaPrefix = "cornerstore"
    }

    let apps: Database
    let sandbox: Database
    let production: Database
    /// The lock that keeps other stores away from the schemas; nil for files, whose folder is locked instead.
    var soleUse: SoleUse?

    /// Opens the three databases, and creates or migrates their tables.
    ///
    /// On PostgreSQL this first locks the schemas for this process, because a store caches rows in memory and two
    /// stores on one schema would contradict each other.
    /// - Throws: ``DatabasesInUse`` when another store uses the schemas; ``DatabaseError``, also when a newer program
    ///   wrote the database or its schema was changed by hand.
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

    /// Whether another store can take the databases while they are open, which happens when the lock's connection
    /// breaks.
    public var canBeLost: Bool { soleUse != nil }

    /// Waits until another store has taken the databases.
    /// - Returns: the other store; nil when the databases are closed, cannot be lost, or the task is cancelled.
    public func whenLost() async -> DatabasesInUse? {
        await soleUse?.whenLost().map { DatabasesInUse(owner: $0.detail) }
    }

    /// Closes the databases after their queued work.
    public func close() async {
        for database in [apps, sandbox, production] { await database.close() }
        await soleUse?.giveUp()
    }
}

/// Another store uses the same databases.
public struct DatabasesInUse: Error, Sendable, Equatable {
    /// A description of its PostgreSQL session: process, machine, and start time.
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
