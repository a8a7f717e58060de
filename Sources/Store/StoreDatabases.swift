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

    /// Opens all three, making or migrating what is needed.
    /// - Throws: ``DatabaseError``, for one of a newer program or changed by hand, too.
    public static func open(_ location: Location, logger: Logger) async throws -> StoreDatabases {
        async let apps = Database.open(
            location.database("apps", connections: 2), migrations: AppSchema.migrations, logger: logger)
        async let sandbox = Database.open(
            location.database("sandbox", connections: 16), migrations: StoreSchema.migrations, logger: logger)
        async let production = Database.open(
            location.database("production", connections: 16), migrations: StoreSchema.migrations, logger: logger)
        return try await StoreDatabases(apps: apps, sandbox: sandbox, production: production)
    }

    /// Closes them after what is queued.
    public func close() async {
        for database in [apps, sandbox, production] { await database.close() }
    }
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
