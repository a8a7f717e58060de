import Foundation
import Logging

/// The PostgreSQL engine, through `libpq`. Each thread owns one connection, and all take jobs from one queue.
final class PostgreSQLEngine: Engine {
    let reads: JobQueue
    var writes: JobQueue { reads }
    private let threads = DatabaseThreads()

    /// Connects once to create the schema and to apply the migrations, then starts the threads. Blocks.
    init(
        _ address: PostgreSQLAddress, connections: Int, migrations: [Migration], limits: Database.Limits,
        soleUse: SoleUse?, logger: Logger
    ) throws {
        guard (1...100).contains(connections) else {
            throw DatabaseError(
                .invalidLocation, "\(connections) connections to PostgreSQL are not allowed; use 1 to 100")
        }
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let texts = SQLTextCache()
        try Self.prepareSchema(address, texts, SchemaHistory(migrations: migrations, logger: logger))
        let turns = WriteTurns()
        for number in 1...connections {
            let queue = reads
            threads.start("postgresql.\(number)") {
                let worker = PostgreSQLWorker(address, texts, limits, soleUse: soleUse, turns: turns, logger)
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
    private static func prepareSchema(
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
        try history.apply { body in
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
}
