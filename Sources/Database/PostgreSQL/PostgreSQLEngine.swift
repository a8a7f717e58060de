import Foundation
import Logging
import Synchronization

/// The PostgreSQL engine, through `libpq`. Each thread owns one connection, and all take jobs from one queue.
final class PostgreSQLEngine: Engine {
    let reads: JobQueue
    var writes: JobQueue { reads }
    /// How often transactions were repeated after serialization failures.
    var repeated: Int { count.value }
    let turns = WriteTurns()
    private let count = RepeatCount()
    private let threads = DatabaseThreads()

    /// Connects once to create the schema and to apply the migrations, then starts the threads. Blocks.
    ///
    /// - Parameter mayMigrate: Whether missing migrations are applied. If not, they are an error.
    init(
        _ address: PostgreSQLAddress, connections: Int, migrations: [Migration], limits: Database.Limits,
        fence: (any Fence)?, mayMigrate: Bool, logger: Logger
    ) throws {
        guard (1...200).contains(connections) else {
            throw DatabaseError(
                .invalidLocation, "\(connections) connections to PostgreSQL are not allowed; use 1 to 200")
        }
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let texts = SQLTextCache()
        let history = SchemaHistory(migrations: migrations, logger: logger)
        if mayMigrate {
            try Self.prepareSchema(address, texts, history)
        } else {
            try Self.checkSchema(address, texts, history)
        }
        for number in 1...connections {
            let (queue, repeats, turns) = (reads, count, turns)
            threads.start("postgresql.\(number)") {
                let worker = PostgreSQLWorker(
                    address, texts, limits, fence: fence, turns: turns, repeated: repeats, logger)
                while let job = queue.next() {
                    worker.perform(job)
                }
            }
        }
    }

    func ended() async {
        await threads.ended()
    }

    /// Creates the schema and applies the migrations. A lock keeps processes that start at the same time apart.
    static func prepareSchema(
        _ address: PostgreSQLAddress, _ texts: SQLTextCache, _ history: SchemaHistory
    ) throws {
        let session = try PostgreSQLSession(address, texts)
        // The session holds the lock until it ends.
        _ = try session.command("SELECT pg_advisory_lock(\(address.lockKey))")
        let known = try session.query(
            "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = CAST($1 AS TEXT)",
            [address.schema]
        )
        // CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if the schema exists.
        if known.isEmpty { _ = try session.command("CREATE SCHEMA \"\(address.schema)\"") }
        try history.apply { body in try transaction(session, body) }
    }

    /// Checks that the schema has all migrations.
    ///
    /// - Throws: ``DatabaseError``: `olderSchema` when it lacks some, and the errors of ``prepareSchema(_:_:_:)``.
    static func checkSchema(_ address: PostgreSQLAddress, _ texts: SQLTextCache, _ history: SchemaHistory) throws {
        let session = try PostgreSQLSession(address, texts)
        let known = try session.query(
            """
            SELECT 1 FROM pg_catalog.pg_tables
            WHERE schemaname = CAST($1 AS TEXT) AND tablename = 'schema_migrations'
            """, [address.schema])
        guard !known.isEmpty else { throw history.olderSchema(applied: 0) }
        let applied = try transaction(session) { try history.checkApplied($0) }
        guard applied == history.migrations.count else { throw history.olderSchema(applied: applied) }
    }

    /// Runs `body` in a transaction of the session.
    static func transaction<T>(_ session: PostgreSQLSession, _ body: (Connection) throws -> T) throws -> T {
        _ = try session.command("BEGIN")
        let connection = Connection(session, longest: nil)
        defer { connection.end() }
        do {
            let result = try body(connection)
            try connection.checkMayCommit()
            _ = try session.command("COMMIT")
            return result
        } catch {
            if !session.isIdle { _ = try? session.command("ROLLBACK") }
            throw error
        }
    }
}

/// Counts the repetitions of transactions.
final class RepeatCount: Sendable {
    private let count = Atomic<Int>(0)

    /// The number of repetitions until now.
    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more.
    func add() { count.add(1, ordering: .relaxed) }
}
