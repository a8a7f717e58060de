import Logging

/// Applies the migrations that a database lacks. The table `schema_migrations` lists the applied ones.
struct SchemaHistory {
    private static let table = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL
        )
        """

    let migrations: [Migration]
    let logger: Logger

    /// Applies the missing migrations, each in a transaction of its own.
    ///
    /// - Parameter transaction: Runs a closure in one write transaction, and rolls back when the closure throws.
    func apply(in transaction: (_ body: (Connection) throws -> Int) throws -> Int) throws {
        var applied = try transaction { connection in
            try connection.execute(Self.table)
            return try checkApplied(connection)
        }
        while applied < migrations.count {
            applied = try transaction { connection in
                // Another process that started at the same moment may have applied this migration meanwhile.
                let applied = try checkApplied(connection)
                guard applied < migrations.count else { return applied }
                try apply(migrations[applied], connection)
                return applied + 1
            }
        }
    }

    private func apply(_ migration: Migration, _ connection: Connection) throws {
        for statement in migration.statements {
            try connection.execute(statement)
        }
        try connection.execute(
            "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
            [migration.number, migration.name, migration.checksum]
        )
        logger.info("migration applied", metadata: ["number": "\(migration.number)", "name": "\(migration.name)"])
    }

    /// The error of a database that lacks migrations while other processes use it.
    ///
    /// - Parameter applied: The number of migrations that it has.
    func olderSchema(applied: Int) -> DatabaseError {
        DatabaseError(
            .olderSchema,
            "the database has \(applied) of this program's \(migrations.count) migrations, and processes of another "
                + "version use it; stop them first")
    }

    /// Checks that the applied migrations are the program's, and returns their number.
    func checkApplied(_ connection: Connection) throws -> Int {
        let rows = try connection.query("SELECT number, name, checksum FROM schema_migrations ORDER BY number")
        for (index, row) in rows.enumerated() {
            let number = try row.int(0)
            if let last = try rows.last?.int(0), last > migrations.count {
                throw DatabaseError(
                    .newerSchema,
                    "the database has migration \(last), and this program knows only \(migrations.count); "
                        + "start a newer version of the program, or restore a backup made before the update"
                )
            }
            guard number == index + 1, try row.string(1) == migrations[index].name,
                try migrations[index].isKnown(by: row.string(2))
            else {
                throw DatabaseError(
                    .changedMigration,
                    "migration \(number) in the database is not migration \(index + 1) (\(migrations[index].name)) "
                        + "of this program; start the version that created the database, or restore a backup"
                )
            }
        }
        return rows.count
    }
}
