@preconcurrency import Dispatch
public import Logging
import Synchronization

/// A database: transactions as synchronous closures over one SQL text, on SQLite or PostgreSQL.
///
/// Closures run on the database's own threads, so a slow disk or server never blocks Swift's. What a write returns is
/// durable: on SQLite the commit has been flushed to disk, on PostgreSQL the server has confirmed it.
public final class Database: Sendable {
    /// How much may wait, and how long.
    struct Limits: Sendable {
        /// Transactions that may wait for a thread.
        var waiting = 10_000
        /// How long one may wait before it is refused as busy.
        var wait = Duration.seconds(10)
        /// How long one is tried again on PostgreSQL while others contradict it. Many who change one row each get their
        /// turn in time: one after the other takes milliseconds each.
        var contention = Duration.seconds(10)
        /// How long a change may take, from its beginning to its commit: others wait for the writer or the connection.
        var change = Duration.seconds(30)
        /// How often the waiting are looked over.
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
            // When the whole machine stood still no thread could take what waits: it gets another interval.
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

    /// Opens a database and brings its tables up to the program's migrations.
    ///
    /// - Parameters:
    ///   - location: the file or server.
    ///   - migrations: all migrations ever, numbered 1, 2, 3…; those missing are applied, each in one transaction.
    ///   - soleUse: what keeps other processes away from a PostgreSQL database. While it is not held, transactions fail
    ///     with `unavailable`.
    ///   - logger: told of migrations applied, connections lost and transactions retried.
    /// - Throws: ``DatabaseError``: `newerSchema` and `changedMigration` when the database is not the program's,
    ///   `unavailable` when it cannot be reached, `invalidLocation` when the path, address or schema is malformed.
    public static func open(
        _ location: DatabaseLocation, migrations: [Migration], soleUse: SoleUse? = nil, logger: Logger
    ) async throws -> Database {
        try await open(
            location, migrations: migrations, limits: Limits(), sqlite: SQLiteSettings(), soleUse: soleUse,
            logger: logger)
    }

    static func open(
        _ location: DatabaseLocation, migrations: [Migration], limits: Limits, sqlite: SQLiteSettings,
        soleUse: SoleUse? = nil, logger: Logger
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
                    address, connections: connections, migrations: migrations, limits: limits, soleUse: soleUse,
                    logger: logger
                )
            }
        }
        return Database(engine, limits)
    }

    /// Runs a transaction that may change rows, and returns once it is durable.
    ///
    /// Transactions are as if run one after the other. **The closure may be run more than once** (a serialization
    /// failure, a batch that was rolled back), so it must have no effect but on the database. If it throws, nothing of
    /// it is kept. A caller that is cancelled still waits, and its transaction is still done.
    ///
    /// - Throws: what the closure throws, or a ``DatabaseError``. `unavailable` out of a commit means that the outcome
    ///   is unknown: repeat the step under the same key.
    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        try await submit(body, .write, engine.writes)
    }

    /// As ``write(_:)``, for callers that have no task to suspend.
    ///
    /// - Parameter completion: called once, on one of the database's threads, which it must not keep.
    public func write<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        engine.writes.add(Self.job(body, .write, completion))
    }

    /// Runs a transaction that only reads; all its statements see the same committed state. The closure may be run
    /// again.
    ///
    /// - Throws: what the closure throws, or a ``DatabaseError``; `readOnly` when the closure tries to change
    ///   something.
    public func read<T: Sendable>(_ body: @escaping @Sendable (Connection) throws -> T) async throws -> T {
        try await submit(body, .read, engine.reads)
    }

    /// As ``read(_:)``, for callers that have no task to suspend.
    ///
    /// - Parameter completion: called once, on one of the database's threads, which it must not keep.
    public func read<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        engine.reads.add(Self.job(body, .read, completion))
    }

    /// One trivial round trip, for readiness checks.
    ///
    /// - Throws: ``DatabaseError`` when the database cannot be used.
    public func check() async throws {
        _ = try await read { try $0.query("SELECT 1") }
    }

    /// Finishes the transactions that wait, then closes. Later calls fail with `closed`; closing twice is fine.
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

/// What stands behind a ``Database``: threads that take jobs from two queues (which may be one).
protocol Engine: Sendable {
    /// Where reading transactions wait.
    var reads: JobQueue { get }
    /// Where writing transactions wait.
    var writes: JobQueue { get }
    /// Waits until the queues, once closed, are empty and all connections are closed.
    func ended() async
}
