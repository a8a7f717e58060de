import Foundation
import Logging
import Synchronization

/// A lock that gives one process exclusive use of a set of schemas, against other processes that take the same lock.
///
/// The lock is a session-level advisory lock on a connection of its own
/// (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS). PostgreSQL releases the lock when the
/// connection ends, so a killed process leaves no lock behind. While the connection is broken, and when PostgreSQL has
/// not answered on it for 20 seconds, transactions of databases that were opened with this lock fail with
/// ``DatabaseError/Code/unavailable``. The process tries to take the lock again until it succeeds or another process
/// holds the lock.
public final class SoleUse: Fence {
    /// The times that tests change.
    struct Timing: Sendable {
        /// The time between two heartbeat queries, in milliseconds.
        var heartbeat: Int32 = 5_000
        /// The time in which PostgreSQL must answer a heartbeat, in seconds.
        var patience = 10
        /// The time. Swift's continuous clock continues while the machine is suspended (`CLOCK_BOOTTIME`).
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
    }

    private let holder: SoleUseHolder
    private let threads = DatabaseThreads()

    /// Takes the lock of a schema, which also covers all that the caller keeps beside the schema.
    ///
    /// - Parameter location: A PostgreSQL server and schema. The schema need not exist.
    /// - Throws: ``DatabaseError``: `inUse` when another process holds the lock for five seconds, `invalidLocation` for
    ///   SQLite, whose files the caller locks, and `unavailable` when the server cannot be reached.
    public convenience init(of location: DatabaseLocation, logger: Logger) async throws {
        try await self.init(of: location, timing: Timing(), logger: logger)
    }

    init(of location: DatabaseLocation, timing: Timing, logger: Logger) async throws {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "this lock is for PostgreSQL only; lock a SQLite file instead")
        }
        let holder = try SoleUseHolder(try PostgreSQLAddress(url: url, schema: schema), timing, logger)
        self.holder = holder
        let threads = threads
        try await withCheckedThrowingContinuation { continuation in
            threads.start("postgresql.lock") { holder.run { continuation.resume(with: $0) } }
        }
    }

    deinit { holder.stop() }

    /// Whether the process holds the lock now.
    var isHeld: Bool { holder.isHeld }

    /// Waits until another process holds the lock.
    ///
    /// - Returns: ``DatabaseError/Code/inUse``, or nil when the lock was released or the task was cancelled.
    public func whenLost() async -> DatabaseError? {
        for await error in holder.losses { return error }
        return nil
    }

    /// Releases the lock. Do not use the databases afterwards.
    public func giveUp() async {
        holder.stop()
        await threads.ended()
    }

    /// Checks that the process holds the lock.
    ///
    /// - Throws: ``DatabaseError`` `unavailable` while it does not.
    public func check() throws(DatabaseError) {
        guard !holder.isHeld else { return }
        throw DatabaseError(
            .unavailable, "PostgreSQL has not confirmed the lock on the database; try again later")
    }

    /// When the server was started that holds the lock, or held it last, in microseconds since 1970. Transactions run
    /// on no other server.
    public var serverStart: Int64 { holder.serverStart }
}

/// The work of a ``SoleUse``'s thread: holds the lock, and listens to its connection.
private final class SoleUseHolder: Sendable {
    /// How long the lock is certain after PostgreSQL's last answer. This is longer than a heartbeat and its answer may
    /// take, and shorter than the 30 seconds of silence after which PostgreSQL ends a session. A process that was
    /// suspended for longer may have lost the lock unnoticed.
    private static let freshness = Duration.seconds(20)
    /// The number of attempts to take the lock when the process starts, and the pause between two attempts in
    /// milliseconds. The session of a process that was just killed may still be ending.
    private static let attempts = 17
    private static let pause: Int32 = 300

    let losses: AsyncStream<DatabaseError>
    private let lost: AsyncStream<DatabaseError>.Continuation
    private let address: PostgreSQLAddress
    private let timing: SoleUse.Timing
    private let logger: Logger
    /// The time of the last query whose answer confirmed the lock; nil while the process does not hold the lock.
    private let confirmed = Mutex<ContinuousClock.Instant?>(nil)
    /// When the server that holds the lock was started.
    private let server = Atomic<Int64>(0)
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

    var serverStart: Int64 { server.load(ordering: .acquiring) }

    /// Ends the thread, which releases the lock.
    func stop() { waker.wake() }

    /// Takes the lock, reports the result to `started`, and holds the lock until ``stop()`` or until another process
    /// holds it.
    func run(_ started: (Result<Void, any Error>) -> Void) {
        defer {
            confirmed.withLock { $0 = nil }
            lost.finish()
        }
        var session: PostgreSQLSession
        var own = OwnSessions()
        do {
            session = try first(&own)
        } catch {
            return started(.failure(error))
        }
        started(.success(()))
        while watch(session) {
            confirmed.withLock { $0 = nil }
            logger.error("the connection that holds the lock on the database broke; the lock is requested again")
            guard let again = regain(&own) else { return }
            session = again
            logger.notice("the lock on the database is held again")
        }
    }

    /// Takes the lock when the process starts.
    ///
    /// - Returns: The session that holds it.
    private func first(_ own: inout OwnSessions) throws -> PostgreSQLSession {
        let session = try connect()
        for attempt in 1...Self.attempts {
            if try take(session, &own) { return session }
            if attempt < Self.attempts, waker.isWoken(within: Self.pause) { break }
        }
        let owner = try owner(session)
        throw owner.map(inUse) ?? DatabaseError(.inUse, "a process that has ended by now")
    }

    /// Waits until the connection breaks or the thread is stopped, and confirms the lock meanwhile.
    ///
    /// - Returns: Whether the connection broke; false when the thread is stopped.
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

    /// Tries to take the lock until it succeeds.
    ///
    /// - Returns: The session that holds it; nil when the thread is stopped or another process holds the lock.
    private func regain(_ own: inout OwnSessions) -> PostgreSQLSession? {
        while true {
            do {
                let session = try connect()
                session.limitWaiting(to: .seconds(timing.patience))
                if try take(session, &own) { return session }
                // The owner is nil when its session has just ended.
                if let owner = try owner(session) {
                    guard own.contains(owner) else {
                        lost.yield(inUse(owner))
                        return nil
                    }
                    // The server has not noticed yet that this session's connection is broken.
                    _ = try session.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [owner.process])
                }
            } catch {
                logger.debug("the lock on the database cannot be requested", metadata: ["reason": "\(error)"])
            }
            if waker.isWoken(within: Self.pause) { return nil }
        }
    }

    private func connect() throws -> PostgreSQLSession {
        let session = try PostgreSQLSession(address, SQLTextCache())
        // The error of a process that is refused the lock shows this name.
        _ = try session.query(
            "SELECT set_config('application_name', $1, FALSE)",
            ["cornerstore process \(getpid()) on \(ProcessInfo.processInfo.hostName)"])
        _ = try session.command("SET idle_session_timeout = 0")
        return session
    }

    /// Tries to take the lock; false when another session holds it.
    private func take(_ session: PostgreSQLSession, _ own: inout OwnSessions) throws -> Bool {
        // First: if the question fails, the session must not have the lock.
        let start = try session.serverStart()
        let asked = timing.now()
        let isTaken = try own.take(with: session) {
            try session.query("SELECT pg_try_advisory_lock(CAST($1 AS BIGINT))", [address.soleUseKey])
                .first?.bool(0) == true
        }
        guard isTaken else { return false }
        server.store(start, ordering: .releasing)
        confirmed.withLock { $0 = asked }
        return true
    }

    /// The owner of the lock; nil when no session holds it any more.
    private func owner(_ session: PostgreSQLSession) throws -> LockOwner? {
        try session.owner(ofLock: address.soleUseKey)
    }

    private func inUse(_ owner: LockOwner) -> DatabaseError { DatabaseError(.inUse, owner.description) }
}
