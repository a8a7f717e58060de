import Database
import Foundation
import Logging

/// The three databases of a store server: one shared by both stores, the sandbox's and production's.
///
/// Each is an SQLite file, or a schema of one PostgreSQL database.
public struct StoreDatabases: Sendable {
    /// The migrations of each database, by its name: the file's, or the end of the schema's.
    package static let migrations = [
        "apps": AppSchema.migrations, "sandbox": StoreSchema.migrations, "production": StoreSchema.migrations,
    ]

    /// The place of the databases.
    public enum Location: Sendable {
        /// SQLite files in an existing folder.
        case folder(URL)
        /// The schemas `PREFIX_apps`, `PREFIX_sandbox` and `PREFIX_production` of one server; with several processes
        /// also `PREFIX_processes`.
        case postgresql(url: String, schemaPrefix: String)

        /// The default prefix of the schemas' names.
        public static let schemaPrefix = "cornerstore"
    }

    /// How a process shares a PostgreSQL database with others.
    public struct Sharing: Sendable {
        /// The facts about this process for the others.
        public var facts: ProcessFacts
        /// The node number, 0 to 63; nil for one that no process has.
        public var node: Int?
        /// The name of this process for the others' messages.
        public var name: String
        /// The machine's clock, in milliseconds since 1970.
        public var now: @Sendable () -> Int64

        /// Creates the way in which a process shares a database. The parameters are the properties.
        public init(facts: ProcessFacts, node: Int? = nil, name: String, now: @escaping @Sendable () -> Int64) {
            self.facts = facts
            self.node = node
            self.name = name
            self.now = now
        }
    }

    /// The number of connections for each environment, unless the caller gives another.
    public static let connections = 16

    let apps: Database
    let sandbox: Database
    let production: Database
    /// The lock that keeps other stores away from the schemas; nil for files, whose folder is locked instead, and for
    /// a shared database.
    var soleUse: SoleUse?
    /// The place of this process among those that share the database; nil for a process that has it alone.
    public internal(set) var membership: Membership?

    /// This process's node number in transaction ids; 0 for a process that has the database alone.
    public var node: Int { membership?.node ?? 0 }

    /// Opens the three databases, and creates or migrates their tables.
    ///
    /// On PostgreSQL this first locks the schemas for this process, because a store caches rows in memory and two
    /// stores on one schema would contradict each other. With `sharing` it joins the other processes instead, which
    /// tell each other of their changes.
    /// - Parameters:
    ///   - sharing: how this process shares a PostgreSQL database with others; nil to have it alone. Has no effect on
    ///     files.
    ///   - connections: the number of connections for each environment.
    ///   - mayMigrate: whether missing tables are created, and older ones migrated, on PostgreSQL.
    ///   - check: called when this process may use the schemas of PostgreSQL, and before it changes them.
    /// - Throws: the error of `check`; ``DatabasesInUse`` when another store uses the schemas or the node number;
    ///   ``DatabaseError``, also when a newer program wrote the database, its schema was changed by hand, or, for a
    ///   shared one, when a setting differs from that of a running process (`settingsDiffer`).
    public static func open(
        _ location: Location, sharing: Sharing? = nil, connections: Int = StoreDatabases.connections,
        mayMigrate: Bool = true, logger: Logger, beforeMigrating check: () async throws -> Void = {}
    ) async throws -> StoreDatabases {
        guard case .postgresql = location else {
            return try await open(location, right: nil, connections, mayMigrate: mayMigrate, logger)
        }
        let apps = location.database("apps", connections: 1)
        do {
            guard let sharing else {
                let soleUse = try await SoleUse(of: apps, logger: logger)
                return try await open(
                    location, .alone(soleUse), connections, mayMigrate: mayMigrate, logger, check)
            }
            let membership = try await Membership(
                of: apps, name: sharing.name, facts: sharing.facts, node: sharing.node, now: sharing.now,
                logger: logger)
            return try await open(
                location, .shared(membership), connections, mayMigrate: mayMigrate, logger, check)
        } catch let error as DatabaseError where error.code == .inUse {
            throw DatabasesInUse(owner: error.detail, error: error)
        }
    }

    /// The right to use the schemas of a PostgreSQL database.
    private enum Right {
        case alone(SoleUse)
        case shared(Membership)

        var fence: any Fence {
            switch self {
            case .alone(let soleUse): soleUse
            case .shared(let membership): membership
            }
        }

        /// Checks that the process may run beside those that run already.
        func check() throws {
            guard case .shared(let membership) = self else { return }
            let own = membership.facts
            // Not among the present ones, since a killed process keeps nobody from starting with other settings.
            for other in membership.othersAtStart {
                guard let conflict = own.conflict(with: other) else { continue }
                throw DatabaseError(
                    .settingsDiffer,
                    "This process cannot use the database together with \(other.name) (node \(other.node)): "
                        + "\(conflict). Give all processes the same settings.")
            }
        }

        func giveUp() async {
            switch self {
            case .alone(let soleUse): await soleUse.giveUp()
            case .shared(let membership): await membership.leave()
            }
        }
    }

    private static func open(
        _ location: Location, _ right: Right, _ connections: Int, mayMigrate: Bool, _ logger: Logger,
        _ check: () async throws -> Void
    ) async throws -> StoreDatabases {
        do {
            try right.check()
            try await check()
            let databases = try await open(location, right: right, connections, mayMigrate: mayMigrate, logger)
            try await databases.membership?.share()
            return databases
        } catch {
            await right.giveUp()
            throw error
        }
    }

    private static func open(
        _ location: Location, right: Right?, _ connections: Int, mayMigrate: Bool, _ logger: Logger
    ) async throws -> StoreDatabases {
        let fence = right?.fence
        let soleUse: SoleUse? = if case .alone(let lock)? = right { lock } else { nil }
        let membership: Membership? = if case .shared(let place)? = right { place } else { nil }
        let mayMigrate = mayMigrate && membership?.isFirst ?? true
        // Shared, the apps' rows are read again whenever another process has changed them.
        async let apps = Database.open(
            location.database("apps", connections: membership == nil ? 2 : 4), migrations: AppSchema.migrations,
            fence: fence, mayMigrate: mayMigrate, logger: logger)
        async let sandbox = Database.open(
            location.database("sandbox", connections: connections), migrations: StoreSchema.migrations,
            fence: fence, mayMigrate: mayMigrate, logger: logger)
        async let production = Database.open(
            location.database("production", connections: connections), migrations: StoreSchema.migrations,
            fence: fence, mayMigrate: mayMigrate, logger: logger)
        return try await StoreDatabases(
            apps: apps, sandbox: sandbox, production: production, soleUse: soleUse, membership: membership)
    }

    /// Whether the right to use the databases can be lost while they are open, which happens when its connection
    /// breaks.
    public var canBeLost: Bool { soleUse != nil || membership != nil }

    /// Waits until this process cannot use the databases any more: another store has taken them or its node number, or
    /// the server lacks confirmed changes.
    /// - Returns: the reason; nil when the databases are closed, cannot be lost, or the task is cancelled.
    public func whenLost() async -> DatabasesInUse? {
        let error: DatabaseError? = if let membership { await membership.whenLost() } else { await soleUse?.whenLost() }
        return error.map { DatabasesInUse(owner: $0.detail, error: $0) }
    }

    /// Lets processes use a PostgreSQL server again that lacks confirmed changes, once an operator has decided to go on
    /// without them.
    /// - Returns: the records of the processes that had noticed it; empty when there was none.
    /// - Throws: ``DatabaseError``, `invalidLocation` for files.
    public static func acceptLoss(in location: Location) async throws -> [RecordedLoss] {
        try await Membership.acceptLoss(of: location.database("apps", connections: 1))
    }

    /// Closes the databases after their queued work.
    public func close() async {
        for database in [apps, sandbox, production] { await database.close() }
        await soleUse?.giveUp()
        await membership?.leave()
    }
}

/// This process cannot use the databases: another store does, or another process has the same node number.
public struct DatabasesInUse: Error, Sendable, Equatable {
    /// A description of its PostgreSQL session: process, machine, and start time.
    public var owner: String
    /// The reason: `inUse`, or, after a shared database was lost, also `dataLost`, `settingsDiffer` or `unavailable`.
    public var error: DatabaseError
}

extension StoreDatabases.Location {
    func database(_ name: String, connections: Int) -> DatabaseLocation {
        switch self {
        case .folder(let folder): .sqlite(path: folder.appendingPathComponent("\(name).sqlite").path)
        case .postgresql(let url, let prefix):
            .postgresql(url: url, schema: "\(prefix)_\(name)", connections: connections)
        }
    }
}
