@preconcurrency import Dispatch
public import Logging
import Synchronization

/// A database on SQLite or PostgreSQL. Transactions are synchronous closures, and the SQL is the same on both engines.
///
/// Closures run on the database's own threads, so a slow disk or server never blocks Swift's threads. When a write
/// returns, its changes are durable: SQLite has flushed the commit to disk, or the PostgreSQL server has confirmed it.
public final class Database: Sendable {
    /// Limits on the number of waiting transactions and on their waiting time.
    struct Limits: Sendable {
        /// The greatest number of transactions that wait for a thread.
        var waiting = 10_000
        /// How long a transaction waits for a thread before it fails with `busy`.
        var wait = Duration.seconds(10)
        /// How long a transaction is repeated on PostgreSQL after serialization failures. Each takes milliseconds, so
        /// many transactions that change the same row all succeed within this time.
        var contention = Duration.seconds(10)
        /// The longest time from the beginning of a write transaction to its commit. Meanwhile other transactions wait
        /// for the writer or the connection.
        var change = Duration.seconds(30)
        /// The time between two checks for transactions that have waited too long.
        var sweep = Duration.seconds(1)
    }

    let engine: any Engine
    private let sweeper: any DispatchSourceTimer

    private init(_ engine: any Engine, _ limits: Limits) {
        self.engine = engine
        let queues = [engine.reads, engine.writes]
        let sweeper = DispatchSource.makeTimerSource()
        let interval = DispatchTimeInterval.milliseconds(Int(limits.sweep / .milliseconds(1)))
        sweeper.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
        let last = Mutex(ContinuousClock.now)
        sweeper.setEventHandler {
            let now = ContinuousClock.now
            let isLate = last.withLock { last in
                defer { last = now }
                return now - last > limits.sweep + .seconds(4)
            }
            // After a standstill of the whole machine, the threads get another interval to take waiting transactions.
            guard !isLate else { return }
            for queue in queues { queue.expire(at: now) }
        }
        sweeper.resume()
        self.sweeper = sweeper
    }

    deinit {
        sweeper.cancel()
        engine.reads.close()
        engine.writes.close()
    }

    /// Opens a database and applies the migrations that it lacks.
    ///
    /// - Parameters:
    ///   - location: The file or server.
    ///   - migrations: All migrations since the first release, numbered 1, 2, 3…. Each is applied in one transaction.
    ///   - fence: The right to use a PostgreSQL database, a ``SoleUse`` or a ``Membership``. While the process does not
    ///     have it, transactions fail with `unavailable`.
    ///   - mayMigrate: Whether missing migrations are applied to a PostgreSQL database; false while other processes use
    ///     it. A SQLite file is always migrated.
    ///   - logger: Logs applied migrations, lost connections and repeated transactions.
    /// - Throws: ``DatabaseError``: `newerSchema` and `changedMigration` when the database has other migrations than
    ///   the program, `olderSchema` when it lacks some that may not be applied, `unavailable` when the file or server
    ///   cannot be reached, `invalidLocation` when the path, address or schema is malformed.
    public static func open(
        _ location: DatabaseLocation, migrations: [Migration], fence: (any Fence)? = nil, mayMigrate: Bool = true,
        logger: Logger
    ) async throws -> Database {
        try await open(
            location, migrations: migrations, limits: Limits(), sqlite: SQLiteSettings(), fence: fence,
            mayMigrate: mayMigrate, logger: logger)
    }

    static func open(
        _ location: DatabaseLocation, migrations: [Migration], limits: Limits, sqlite: SQLiteSettings,
        fence: (any Fence)? = nil, mayMigrate: Bool = true, logger: Logger
    ) async throws -> Database {
        try Migration.check(migrations)
        let engine: any Engine = try await DatabaseThreads.run("database.open") {
            switch location {
            case .sqlite(let path):
                do {
                    return try SQLiteEngine(
                        path: path, migrations: migrations, limits: limits, settings: sqlite, logger: logger
                    )
                } catch {
                    throw DatabaseError(anySQLite: error)
                }
            case .postgresql(let url, let schema, let connections):
                let address = try PostgreSQLAddress(url: url, schema: schema)
                return try PostgreSQLEngine(
                    address, connections: connections, migrations: migrations, limits: limits, fence: fence,
                    mayMigrate: mayMigrate, logger: logger
                )
            }
        }
        return Database(engine, limits)
    }

    /// Runs a transaction that may change rows, and returns once it is durable.
    ///
    /// Transactions are serializable: their result is the same as if they ran one after the other. **The closure may
    /// run more than once** (after a serialization failure, or when a batch was rolled back), so it must have no effect
    /// outside the database. If it throws, its changes are rolled back. Cancelling the caller's task has no effect on
    /// the transaction.
    ///
    /// - Throws: The closure's error, or a ``DatabaseError``. `unavailable` from a commit means that the outcome is
    ///   unknown; repeat the step under the same key.
    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        try await submit(body, .write, engine.writes)
    }

    /// Runs a transaction as ``write(_:)`` does, for callers without a task.
    ///
    /// - Parameter completion: Called once, on one of the database's threads. It must return without blocking.
    public func write<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        engine.writes.add(Self.job(body, .write, completion))
    }

    /// Runs a read transaction. All its statements see the same committed state. The closure may run more than once.
    ///
    /// - Throws: The closure's error, or a ``DatabaseError``; `readOnly` when the closure tries to change rows.
    public func read<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        try await submit(body, .read, engine.reads)
    }

    /// Runs a transaction as ``read(_:)`` does, for callers without a task.
    ///
    /// - Parameter completion: Called once, on one of the database's threads. It must return without blocking.
    public func read<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        engine.reads.add(Self.job(body, .read, completion))
    }

    /// Runs a trivial query, for readiness checks.
    ///
    /// - Throws: ``DatabaseError`` when the database cannot be used.
    public func check() async throws {
        _ = try await read { try $0.query("SELECT 1") }
    }

    /// The number of transactions that wait for a thread, and how often transactions were repeated after serialization
    /// failures since the database was opened (PostgreSQL only).
    public var statistics: (waiting: Int, repeated: Int) {
        // The two queues are one on PostgreSQL.
        let waiting = engine.reads === engine.writes ? engine.reads.count : engine.reads.count + engine.writes.count
        return (waiting, engine.repeated)
    }

    /// Whether at least one standby confirms each commit of this PostgreSQL server
    /// (https://www.postgresql.org/docs/15/monitoring-stats.html#MONITORING-PG-STAT-REPLICATION-VIEW). The role must be
    /// allowed to read it (`pg_monitor`); to others, no standby shows.
    ///
    /// - Throws: ``DatabaseError``, always on SQLite.
    public func hasSynchronousStandby() async throws -> Bool {
        try await read { connection in
            try connection.queryOne(
                "SELECT 1 FROM pg_catalog.pg_stat_replication WHERE sync_state IN ('sync', 'quorum') LIMIT 1") != nil
        }
    }

    /// Finishes the waiting transactions, then closes the database. Later transactions fail with `closed`. A second
    /// call has no effect.
    public func close() async {
        engine.reads.close()
        engine.writes.close()
        await engine.ended()
        sweeper.cancel()
    }

    private func submit<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T, _ access: Job.Access, _ queue: JobQueue
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            queue.add(Self.job(body, access) { continuation.resume(with: $0) })
        }
    }

    private static func job<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T, _ access: Job.Access,
        _ completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> Job {
        Job(
            access: access, enqueued: .now,
            run: { connection in
                let value = try body(connection)
                return { completion(.success(value)) }
            },
            fail: { completion(.failure($0)) })
    }
}

/// The implementation of a ``Database``: threads that take jobs from a read queue and a write queue, which may be the
/// same queue.
protocol Engine: Sendable {
    /// The queue of read transactions.
    var reads: JobQueue { get }
    /// The queue of write transactions.
    var writes: JobQueue { get }
    /// How often transactions were repeated after serialization failures.
    var repeated: Int { get }
    /// Waits, after the queues were closed, until they are empty and all connections are closed.
    func ended() async
}
