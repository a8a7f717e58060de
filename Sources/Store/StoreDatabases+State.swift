extension StoreDatabases {
    /// Whether an environment's ledger has a transaction.
    /// - Throws: a database's error.
    package func haveTransactions() async throws -> Bool {
        for database in [sandbox, production] where try await database.read({ try Transactions.exist($0) }) {
            return true
        }
        return false
    }

    /// PostgreSQL's number of the schema `PREFIX_apps`, which stays when the schema is renamed.
    /// - Throws: a database's error, always on SQLite.
    package func schemaNumber() async throws -> String? { try await apps.schemaNumber() }
}
