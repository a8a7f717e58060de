import Foundation
import Logging

/// PostgreSQL through `libpq`: threads that each own one connection and take jobs from one queue.
final class PostgreSQLEngine: Engine {
    let reads: JobQueue
    var writes: JobQueue { reads }
    private let threads = DatabaseThreads()

    /// Connects once to make the schema and apply the migrations, and starts the threads. Blocks.
    init(
        _ address: PostgreSQLAddress, connections: Int, migrations: [Migration], limits: Database.Limits,
        soleUse: SoleUse?, logger: Logger
    ) throws {
        guard (1...100).contains(connections) else {
            throw DatabaseError(.invalidLocation, "a pool has 1 to 100 connections, not \(connections)")
        }
        reads = JobQueue(capacity: limits.waiting, waitLimit: limits.wait)
        let texts = SQLTextCache()
        try Self.prepareSchema(address, texts, SchemaHistory(migrations: migrations, logger: logger))
        for number in 1...connections {
            let queue = reads
            threads.start("postgresql.\(number)") {
                let worker = PostgreSQLWorker(
                    address, texts, limits, soleUse: soleUse, logger)
                while let job = queue.next() {
                    worker.perform(job)
                }
            }
        }
    }

    func ended() async {
        await threads.ended()
    }

    /// Programs that start at the same time do this one after the other.
    private static func prepareSchema(
        _ address: PostgreSQLAddress, _ texts: SQLTextCache, _ history: SchemaHistory
    ) throws {
        let session = try PostgreSQLSession(address, texts)
        // The lock is the session's, and ends with it.
        _ = try session.command("SELECT pg_advisory_lock(\(address.lockKey))")
        let known = try session.query(
            "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = CAST($1 AS TEXT)",
            [address.schema]
        )
        // Asked first, because IF NOT EXISTS needs the right to make one even where it exists.
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
