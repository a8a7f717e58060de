import Foundation
import Logging
import Synchronization

/// The right of one process to work on a set of schemas, against others that ask for the same right.
///
/// The right is a session-level advisory lock on a connection of its own
/// (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS). PostgreSQL ends the lock with the
/// connection, so a process that was killed leaves none. While the connection is broken, and after PostgreSQL was
/// silent on it for 20 seconds, databases that were opened with this right fail with
/// ``DatabaseError/Code/unavailable``. The lock is asked for again until the process regains it or another process has
/// it.
public final class SoleUse: Sendable {
    /// The times that tests change.
    struct Timing: Sendable {
        /// How often PostgreSQL is asked for a sign of life, in milliseconds.
        var heartbeat: Int32 = 5_000
        /// How many seconds PostgreSQL has to give one.
        var patience = 10
        /// The time. Swift's continuous clock goes on while the machine is suspended (`CLOCK_BOOTTIME`).
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
    }

    private let holder: SoleUseHolder
    private let threads = DatabaseThreads()

    /// Takes the right to a schema and to all that the caller keeps beside it.
    ///
    /// - Parameter location: a PostgreSQL server and schema. The schema need not exist.
    /// - Throws: ``DatabaseError``: `inUse` when another process has the right and does not end within five seconds,
    ///   `invalidLocation` for SQLite, whose files the caller locks, and `unavailable`.
    public convenience init(of location: DatabaseLocation, logger: Logger) async throws {
        try await self.init(of: location, timing: Timing(), logger: logger)
    }

    init(of location: DatabaseLocation, timing: Timing, logger: Logger) async throws {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "only a PostgreSQL server keeps the right to a database")
        }
        let holder = try SoleUseHolder(try PostgreSQLAddress(url: url, schema: schema), timing, logger)
        self.holder = holder
        let threads = threads
        try await withCheckedThrowingContinuation { continuation in
            threads.start("postgresql.lock") { holder.run { continuation.resume(with: $0) } }
        }
    }

    deinit { holder.stop() }

    /// Whether the process has the right now.
    var isHeld: Bool { holder.isHeld }

    /// Waits until another process has the right, and gives ``DatabaseError/Code/inUse``. Gives nil when the right was
    /// given up or the task was cancelled.
    public func whenLost() async -> DatabaseError? {
        for await error in holder.losses { return error }
        return nil
    }

    /// Gives the right up. Nothing may be written afterwards.
    public func giveUp() async {
        holder.stop()
        await threads.ended()
    }

    /// - Throws: ``DatabaseError`` `unavailable` while the right is not held.
    func check() throws(DatabaseError) {
        guard !holder.isHeld else { return }
        throw DatabaseError(
            .unavailable, "PostgreSQL has not confirmed the store's lock on the database lately; try again later")
    }
}

/// What the thread of a ``SoleUse`` does: holds the lock, and listens to its connection.
private final class SoleUseHolder: Sendable {
    /// How long the lock is held for certain after PostgreSQL's last sign of life: longer than a heartbeat and its
    /// answer may take, and shorter than the 30 seconds of silence after which PostgreSQL ends the lock
    /// (``connect()``). A process that was suspended for longer may have lost the lock without notice.
    private static let freshness = Duration.seconds(20)
    /// How often the lock is asked for when the process starts, and the pause between two times in milliseconds: the
    /// session of a process that was just killed may still be ending.
    private static let attempts = 17
    private static let pause: Int32 = 300

    let losses: AsyncStream<DatabaseError>
    private let lost: AsyncStream<DatabaseError>.Continuation
    private let address: PostgreSQLAddress
    private let timing: SoleUse.Timing
    private let logger: Logger
    /// When the last question was asked that showed that PostgreSQL keeps the lock; nil while the process does not have
    /// the lock.
    private let confirmed = Mutex<ContinuousClock.Instant?>(nil)
    private let waker: Waker

    init(_ address: PostgreSQLAddress, _ timing: SoleUse.Timing, _ logger: Logger) throws(DatabaseError) {
        (losses, lost) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.address = address
        self.timing = timing
        self.logger = logger
        waker = try Waker()
    }

    var isHeld: Bool {
        guard let confirmed = confirmed.withLock({ $0 }) else { return false }
        return timing.now() - confirmed < Self.freshness
    }

    /// Ends the thread, and with it the lock.
    func stop() { waker.wake() }

    /// Takes the lock, tells whether that succeeded, and holds it until it is stopped or another process has the lock.
    func run(_ started: (Result<Void, any Error>) -> Void) {
        defer {
            confirmed.withLock { $0 = nil }
            lost.finish()
        }
        var lock: Lock
        do {
            lock = try first()
        } catch {
            return started(.failure(error))
        }
        started(.success(()))
        while watch(lock.session) {
            confirmed.withLock { $0 = nil }
            logger.error("the connection that holds the lock on the database broke; it is asked for again")
            guard let again = regain(lock.owner) else { return }
            lock = again
            logger.notice("the lock on the database is held again")
        }
    }

    /// A session that has the lock.
    private struct Lock {
        var session: PostgreSQLSession
        var owner: Owner?
    }

    /// The server's process that serves the session with the lock. Numbers of processes are used again, so that its
    /// start belongs to it.
    private struct Owner: Equatable {
        var process: Int
        var since: String
        var name: String
    }

    private func first() throws -> Lock {
        let session = try connect()
        for attempt in 1...Self.attempts {
            if let lock = try take(session) { return lock }
            if attempt < Self.attempts, waker.isWoken(within: Self.pause) { break }
        }
        let owner = try owner(session)
        throw owner.map(inUse) ?? DatabaseError(.inUse, "a process that has ended by now")
    }

    /// Whether the connection broke; false when the thread is to end.
    private func watch(_ session: PostgreSQLSession) -> Bool {
        while true {
            switch session.listen(for: waker.descriptor, milliseconds: timing.heartbeat) {
            case .woken: return false
            case .broken: return true
            case .quiet:
                let asked = timing.now()
                guard session.answers(withinSeconds: timing.patience) else { return true }
                confirmed.withLock { $0 = asked }
            }
        }
    }

    /// Asks for the lock until it is had; nil when the thread is to end, or when another process has the lock.
    private func regain(_ old: Owner?) -> Lock? {
        while true {
            do {
                let session = try connect()
                if let lock = try take(session) { return lock }
                // Nil when the owner's session ended this moment.
                if let owner = try owner(session) {
                    guard owner == old else {
                        lost.yield(inUse(owner))
                        return nil
                    }
                    // The server has not noticed yet that this session's connection is broken.
                    _ = try session.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [owner.process])
                }
            } catch {
                logger.debug("the lock on the database cannot be asked for", metadata: ["reason": "\(error)"])
            }
            if waker.isWoken(within: Self.pause) { return nil }
        }
    }

    private func connect() throws -> PostgreSQLSession {
        let session = try PostgreSQLSession(address, SQLTextCache())
        // A process that is refused is told this name. PostgreSQL ends a session that is silent for 30 seconds.
        _ = try session.query(
            "SELECT set_config('application_name', $1, FALSE)",
            ["cornerstore process \(getpid()) on \(ProcessInfo.processInfo.hostName)"])
        _ = try session.command(
            """
            SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
            SET idle_session_timeout = 0
            """)
        return session
    }

    /// Takes the lock; nil when another session has it.
    private func take(_ session: PostgreSQLSession) throws -> Lock? {
        let asked = timing.now()
        let row = try session.query("SELECT pg_try_advisory_lock(CAST($1 AS BIGINT))", [address.soleUseKey]).first
        guard try row?.bool(0) == true else { return nil }
        let lock = Lock(session: session, owner: try owner(session))
        confirmed.withLock { $0 = asked }
        return lock
    }

    /// Whose session has the lock; nil when none has it any more.
    private func owner(_ session: PostgreSQLSession) throws -> Owner? {
        let row = try session.query(
            """
            SELECT l.pid, CAST(a.backend_start AS TEXT), a.application_name
            FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
                AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = CAST($1 AS BIGINT)
            """, [address.soleUseKey]
        ).first
        return try row.map {
            Owner(
                process: try $0.int(0), since: try $0.optionalString(1) ?? "an unknown time",
                name: try $0.optionalString(2) ?? "a session of another role")
        }
    }

    private func inUse(_ owner: Owner) -> DatabaseError {
        DatabaseError(
            .inUse, "\(owner.name), connected since \(owner.since), PostgreSQL process \(owner.process)")
    }
}
