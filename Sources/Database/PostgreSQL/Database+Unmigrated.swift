extension Database {
    /// Reads a PostgreSQL database as it is: neither the schema nor the tables need exist, and no migration is applied.
    ///
    /// - Parameter body: Runs in one transaction, in which the schema is the search path.
    /// - Throws: `body`'s error, or a ``DatabaseError``: `invalidLocation` for SQLite, `unavailable` when the server
    ///   cannot be reached.
    package static func readUnmigrated<T: Sendable>(
        _ location: DatabaseLocation, _ body: @escaping @Sendable (Connection) throws -> T
    ) async throws -> T {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "only a PostgreSQL database can be read before its migrations")
        }
        return try await DatabaseThreads.run("database.look") {
            let session = try PostgreSQLSession(try PostgreSQLAddress(url: url, schema: schema), SQLTextCache())
            return try PostgreSQLEngine.transaction(session, body)
        }
    }

    /// PostgreSQL's number of this database's schema, which stays when the schema is renamed; nil when there is no
    /// schema.
    ///
    /// - Throws: ``DatabaseError``, always on SQLite.
    package func schemaNumber() async throws -> String? {
        try await read { connection in
            try connection.queryOne(
                "SELECT CAST(oid AS TEXT) FROM pg_catalog.pg_namespace WHERE nspname = current_schema()")?.string(0)
        }
    }
}
