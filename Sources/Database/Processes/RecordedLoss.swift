/// The record of a process that a PostgreSQL server lacks changes that were confirmed to it, as a standby that lagged
/// when it was promoted. While there is one, no process uses the server (``DatabaseError/Code/dataLost``).
public struct RecordedLoss: Sendable, Equatable {
    /// The process's node number.
    public var node: Int
    /// The process's name, such as `process 4711 on store-1`.
    public var process: String
    /// When the process noticed the loss, by the server's clock, in milliseconds since 1970.
    public var noticedAt: Int64
}

extension Membership {
    /// Lets processes use a server again that lacks changes, once an operator has decided to go on without them.
    ///
    /// - Parameter location: The PostgreSQL server, and the schema `PREFIX_apps`.
    /// - Returns: The records that were removed, by node number; empty when there was none.
    /// - Throws: ``DatabaseError``: `invalidLocation` for SQLite, `unavailable` when the server cannot be reached.
    public static func acceptLoss(of location: DatabaseLocation) async throws -> [RecordedLoss] {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "several processes can share a PostgreSQL database only")
        }
        let table = try ProcessTable(url: url, schema: schema)
        return try await DatabaseThreads.run("postgresql.loss") {
            try table.removeLosses(try PostgreSQLSession(table.address, SQLTextCache()))
        }
    }
}
