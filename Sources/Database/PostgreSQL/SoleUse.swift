import Foundation
import Logging
import Synchronization

/// The right of one process to work on a set of schemas, against others that ask for the same right.
///
/// It is a session-level advisory lock on a connection of its own
/// (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS). PostgreSQL ends the lock with the connection, so a
/// process that was killed leaves none. While the connection is broken, databases that were opened with this right fail with
/// ``DatabaseError/Code/unavailable``; the lock is asked for again until it is regained or another process has it.
public final class SoleUse: Sendable {
    private let holder: SoleUseHolder
    private let threads = DatabaseThreads()

    /// Takes the right to a schema and to all that the caller keeps beside it.
    ///
    /// - Parameter location: a PostgreSQL server and schema. The schema need not be there.
    /// - Throws: ``DatabaseError``: `inUse` when another process has the right and does not end within five seconds,
    ///   `invalidLocation` for SQLite, whose files the caller locks, and `unavailable`.
    public init(of location: DatabaseLocation, logger: Logger) async throws {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "the right to a database is kept on a PostgreSQL server")
        }
        let holder = try SoleUseHolder(try PostgreSQLAddress(url: url, schema: schema), logger)
        self.holder = holder
        let threads = threads
        try await withCheckedThrowingContinuation { continuation in
            threads.start("postgresql.lock") { holder.run { continuation.resume(with: $0) } }
        }
    }

    deinit { holder.stop() }

    /// Whether the process has the right now.
    var isHeld: Bool { holder.isHeld }

    /// Waits until another process has the right, and gives ``DatabaseError/Code/inUse``. Gives nil when the right was given up or the
    /// task was cancelled.
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
            .unavailable,
            "the connection that holds the store's lock on the database broke; the lock is asked for again, try later")
    }
}

/// What the thread of a ``SoleUse`` does: holds the lock, and listens to its connection.
private final class SoleUseHolder: Sendable {
    /// How often PostgreSQL is asked for a sign of life, in milliseconds, and how many seconds it has for one. Together they are
    /// less than the 30 seconds after which PostgreSQL takes a silent connection for dead and ends the lock.
    private static let heartbeat: Int32 = 5_000
    private static let patience = 10
    /// How often the lock is asked for when the process starts, and the pause between two times in milliseconds: the session of a process
    /// that was just killed may still be ending.
    private static let attempts = 17
    private static let pause: Int32 = 300

    let losses: AsyncStream<DatabaseError>
    private let lost: AsyncStream<DatabaseError>.Continuation
    private let address: PostgreSQLAddress
    private let logger: Logger
    private let held = Atomic(false)
    private let waker: Waker

    init(_ address: PostgreSQLAddress, _ logger: Logger) throws(DatabaseError) {
        (losses, lost) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.address = address
        self.logger = logger
        waker = try Waker()
    }

    var isHeld: Bool { held.load(ordering: .acquiring) }

    /// Ends the thread, and with it the lock.
    func stop() { waker.wake() }

    /// Takes the lock, tells whether that succeeded, and holds it until it is stopped or another process has the lock.
    func run(_ started: (Result<Void, any Error>) -> Void) {
        defer {
            held.store(false, ordering: .releasing)
            lost.finish()
        }
        var lock: Lock
        do {
            lock = try first()
        } catch {
            return started(.failure(error))
        }
        held.store(true, ordering: .releasing)
        started(.success(()))
        while watch(lock.session) {
            held.store(false, ordering: .releasing)
            logger.error("the connection that holds the lock on the database broke; it is asked for again")
            guard let again = regain(lock.server) else { return }
            lock = again
            held.store(true, ordering: .releasing)
            logger.notice("the lock on the database is held again")
        }
    }

    private struct Lock {
        var session: PostgreSQLSession
        var server: Server
    }

    /// The server's process that serves a session. Numbers of processes are used again, so that its start belongs to it.
    private struct Server: Equatable {
        var process: Int
        var since: String
    }

    private func first() throws -> Lock {
        let session = try connect()
        for attempt in 1...Self.attempts {
            if try lock(session) { return Lock(session: session, server: try server(of: session)) }
            if attempt < Self.attempts, waker.isWoken(within: Self.pause) { break }
        }
        throw inUse(try owner(session))
    }

    /// Whether the connection broke; false when the thread is to end.
    private func watch(_ session: PostgreSQLSession) -> Bool {
        while true {
            switch session.listen(for: waker.descriptor, milliseconds: Self.heartbeat) {
            case .woken: return false
            case .broken: return true
            case .quiet: guard session.answers(withinSeconds: Self.patience) else { return true }
            }
        }
    }

    /// Asks for the lock until it is had; nil when the thread is to end, or when another process has the lock.
    private func regain(_ old: Server) -> Lock? {
        while true {
            do {
                let session = try connect()
                if try lock(session) { return Lock(session: session, server: try server(of: session)) }
                // Nil when the owner's session ended this moment.
                if let owner = try owner(session) {
                    guard owner.session == old else {
                        lost.yield(inUse(owner))
                        return nil
                    }
                    // The server has not noticed yet that this session's connection is broken.
                    _ = try session.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [old.process])
                }
            } catch {
                logger.debug("the lock on the database cannot be asked for", metadata: ["reason": "\(error)"])
            }
            if waker.isWoken(within: Self.pause) { return nil }
        }
    }

    private func connect() throws(DatabaseError) -> PostgreSQLSession {
        let session = try PostgreSQLSession(address, SQLTextCache())
        // Who is refused is told this name. And a connection that went silent is taken for dead after 30 seconds.
        _ = try session.command(
            """
            SET application_name = 'cornerstore process \(getpid()) on \(Self.machine)'; \
            SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
            SET idle_session_timeout = 0
            """)
        return session
    }

    /// The machine's name as far as it consists of letters, digits, hyphens and periods.
    private static var machine: String {
        var name = [UInt8](repeating: 0, count: 256)
        let isKnown = name.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { gethostname($0, text.count - 1) == 0 } ?? false
            }
        }
        let letters = name.prefix { $0 != 0 }.filter { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isKnown && !letters.isEmpty ? String(decoding: letters.prefix(30), as: UTF8.self) : "an unnamed machine"
    }

    private func lock(_ session: PostgreSQLSession) throws -> Bool {
        try session.query("SELECT pg_try_advisory_lock(CAST($1 AS BIGINT))", [address.soleUseKey]).first?.bool(0)
            ?? false
    }

    private func server(of session: PostgreSQLSession) throws -> Server {
        let row = try session.query(
            "SELECT pid, CAST(backend_start AS TEXT) FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()", []
        ).first
        guard let row else { throw DatabaseError(.unavailable, "PostgreSQL does not know its own session") }
        return Server(process: try row.int(0), since: try row.string(1))
    }

    private struct Owner {
        var session: Server
        var name: String
    }

    /// Whose session has the lock; nil when none has it any more.
    private func owner(_ session: PostgreSQLSession) throws -> Owner? {
        let row = try session.query(
            """
            SELECT l.pid, a.application_name, CAST(a.backend_start AS TEXT)
            FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
                AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = CAST($1 AS BIGINT)
            """, [address.soleUseKey]
        ).first
        return try row.map {
            Owner(
                session: Server(process: try $0.int(0), since: try $0.optionalString(2) ?? "an unknown time"),
                name: try $0.optionalString(1) ?? "a session of another role")
        }
    }

    private func inUse(_ owner: Owner?) -> DatabaseError {
        let name = owner.map {
            "\($0.name), connected since \($0.session.since), PostgreSQL process \($0.session.process)"
        }
        return DatabaseError(.inUse, name ?? "a process that has ended by now")
    }
}

/// Wakes a thread that waits for a descriptor.
private final class Waker: Sendable {
    /// Can be read once the thread is woken.
    let descriptor: Int32
    private let end: Int32

    init() throws(DatabaseError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw DatabaseError(.unavailable, "no file descriptor is free for the lock on the database")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, end) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(end)
    }

    /// Wakes the thread for good.
    func wake() { _ = write(end, [1], 1) }

    /// Waits so many milliseconds, shorter when it is woken, and tells whether it is.
    func isWoken(within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) > 0
    }
}
