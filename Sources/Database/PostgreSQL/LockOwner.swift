/// The server process of a session that holds an advisory lock. Process numbers are reused, so the start time belongs
/// to the identity.
struct LockOwner: Equatable, Sendable {
    var process: Int
    var since: String
    /// The session's `application_name`.
    var name: String

    /// Whether both are the same session. A session's name changes when its process has started.
    static func == (left: LockOwner, right: LockOwner) -> Bool {
        left.process == right.process && left.since == right.since
    }

    /// The session, for an error that names it.
    var description: String { "\(name), connected since \(since), PostgreSQL process \(process)" }
}

/// The sessions of this process that may have a lock that one session at a time can have.
///
/// A session may have the lock though the answer that says so never arrived. The server keeps it until it notices that
/// the connection is broken.
struct OwnSessions {
    private var sessions: [LockOwner] = []

    func contains(_ owner: LockOwner) -> Bool { sessions.contains(owner) }

    /// Takes the lock with a session.
    ///
    /// - Parameter attempt: Tries to take the lock, and returns whether the session has it.
    /// - Returns: Whether the session has the lock.
    mutating func take(with session: PostgreSQLSession, _ attempt: () throws -> Bool) throws -> Bool {
        let identity = try session.identity()
        // Before the attempt, since the next one must know this session if no answer arrives.
        sessions.append(identity)
        guard try attempt() else {
            sessions.removeLast()
            return false
        }
        // So no other session has it.
        sessions = [identity]
        return true
    }
}

extension PostgreSQLSession {
    private static let owners = """
        SELECT l.pid, CAST(a.backend_start AS TEXT), a.application_name
        FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
        WHERE l.locktype = 'advisory' AND l.granted
            AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
        """

    /// A session that holds the advisory lock of a 64-bit key; nil when none holds it.
    func owner(ofLock key: Int64) throws -> LockOwner? {
        try owner(
            """
            \(Self.owners) AND l.objsubid = 1
                AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = CAST($1 AS BIGINT)
            """, [key])
    }

    /// A session that holds the advisory lock of two 32-bit keys, neither of them negative; nil when none holds it.
    func owner(ofLock key: Int64, _ number: Int) throws -> LockOwner? {
        try owner(
            """
            \(Self.owners) AND l.objsubid = 2 AND CAST(l.classid AS BIGINT) = CAST($1 AS BIGINT)
                AND CAST(l.objid AS BIGINT) = CAST($2 AS BIGINT)
            """, [key, Int64(number)])
    }

    /// This session, as the functions above describe it.
    func identity() throws -> LockOwner {
        let own = try owner(
            """
            SELECT a.pid, CAST(a.backend_start AS TEXT), a.application_name
            FROM pg_catalog.pg_stat_activity a WHERE a.pid = pg_backend_pid()
            """, [])
        guard let own else { throw DatabaseError(.unavailable, "PostgreSQL did not describe its own session") }
        return own
    }

    private func owner(_ sql: String, _ arguments: [Int64]) throws -> LockOwner? {
        try query(sql, arguments).first.map { row in
            LockOwner(
                process: try row.int(0), since: try row.optionalString(1) ?? "an unknown time",
                name: try row.optionalString(2) ?? "a session of another role")
        }
    }
}
