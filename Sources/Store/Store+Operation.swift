import Database

/// A store's answers to monitoring systems and load balancers.
extension Store {
    /// The number of transactions that wait for a connection, and of those that were repeated since the start because
    /// another one changed the same rows.
    public var databaseStatistics: (waiting: Int, repeated: Int) { database.statistics }

    /// Whether a synchronous standby of the PostgreSQL server confirms each transaction.
    /// - Throws: ``DatabaseError``, always on SQLite.
    public func hasSynchronousStandby() async throws -> Bool { try await database.hasSynchronousStandby() }
}
