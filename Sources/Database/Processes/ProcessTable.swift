/// The tables of the schema `PREFIX_processes`, with the notifications and locks that belong to them.
struct ProcessTable: Sendable {
    /// The number of node numbers: 0 to 63, as a transaction id has room for them.
    static let nodes = 64

    /// The schema `PREFIX_processes`.
    let address: PostgreSQLAddress
    /// The first key of the locks of the node numbers; the second is the number.
    let nodeKey: Int64
    /// The lock that a process takes alone to migrate the schemas, and otherwise shares: that of the apps' schema.
    let storeKey: Int64
    /// The name of the notifications of changes.
    let changes: String
    /// The name of the notifications of hints.
    let hints: String
    private let advance: String

    /// - Parameter schema: The schema `PREFIX_apps`.
    /// - Throws: ``DatabaseError`` `invalidLocation` for a malformed address or schema.
    init(url: String, schema: String) throws(DatabaseError) {
        let apps = try PostgreSQLAddress(url: url, schema: schema)
        let prefix = schema.hasSuffix("_apps") ? String(schema.dropLast("_apps".count)) : schema
        address = try PostgreSQLAddress(url: url, schema: "\(prefix)_processes")
        storeKey = apps.soleUseKey
        nodeKey = PostgreSQLAddress.key("cornerstore nodes \(prefix)") & 0x7fff_ffff
        (changes, hints) = ("\(prefix)_changes", "\(prefix)_hints")
        advance = """
            INSERT INTO "\(prefix)_processes".change_versions (node, version) VALUES ($1, 1)
            ON CONFLICT (node) DO UPDATE SET version = change_versions.version + 1 RETURNING version
            """
    }

    // MARK: Changes

    /// Announces changes as a part of the session's open transaction.
    ///
    /// - Returns: The version that the transaction makes of the node.
    func announce(_ announcements: [Announcement], by node: Int, _ session: PostgreSQLSession) throws -> Int64 {
        // The row stays locked until the transaction ends, so the versions have the order of the commits.
        guard let version = try session.query(advance, [node]).first?.int64(0) else {
            throw DatabaseError(.unavailable, "the version of the node was not returned")
        }
        let notice = ChangeNotice(node: node, version: version, announcements: announcements)
        _ = try session.query("SELECT pg_notify($1, $2)", [changes, notice.payload])
        return version
    }

    /// Tells the other processes words that need not arrive.
    func hint(_ words: [String], by node: Int, _ session: PostgreSQLSession) throws {
        _ = try session.query("SELECT pg_notify($1, $2)", [hints, "\(node) \(words.joined(separator: " "))"])
    }

    /// Records which changes a process has applied. A lost row makes writers wait for longer, so the commit is not
    /// flushed.
    func acknowledge(_ versions: [Int: Int64], by node: Int, _ session: PostgreSQLSession) throws {
        let rows = versions.map { "(\(node), \($0.key), \($0.value))" }.joined(separator: ", ")
        _ = try session.command(
            """
            BEGIN; SET LOCAL synchronous_commit = off; \
            INSERT INTO change_acks (reader, writer, version) VALUES \(rows) \
            ON CONFLICT (reader, writer) DO UPDATE SET version = excluded.version; COMMIT
            """)
    }

    /// The last version that a node has announced; 0 for none.
    func changeVersion(of node: Int, _ session: PostgreSQLSession) throws -> Int64 {
        try session.query("SELECT version FROM change_versions WHERE node = $1", [node]).first?.int64(0) ?? 0
    }

    /// The last version of a node that all processes have applied which may still use what they keep; nil when there
    /// are none.
    ///
    /// - Parameter lease: How long a process uses what it keeps after its last beat.
    func appliedByAll(of node: Int, lease: Duration, _ session: PostgreSQLSession) throws -> Int64? {
        try session.query(
            """
            SELECT min(COALESCE(a.version, 0))
            FROM store_processes p LEFT JOIN change_acks a ON a.reader = p.node AND a.writer = $1
            WHERE p.node <> $1 AND p.hears
                AND p.beat > CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT) - $2
            """, [node, Int(lease / .milliseconds(1))]
        ).first?.optionalInt64(0)
    }

    // MARK: Processes

    /// The last process of a node number.
    struct Process {
        var node: Int
        var session: String
        var beat: Int64
        /// The number of beats; 0 for a process that registers.
        var beats: Int64 = 0
        var facts: String
    }

    /// The last process of each node number.
    func processes(_ session: PostgreSQLSession) throws -> [Process] {
        let rows = try session.query(
            "SELECT node, session, beat, beats, facts FROM store_processes ORDER BY node", [])
        return try rows.map { row in
            Process(
                node: try row.int(0), session: try row.string(1), beat: try row.int64(2), beats: try row.int64(3),
                facts: try row.string(4))
        }
    }

    /// Records that a process has taken a node number. Its first beat is still to come.
    func register(_ process: Process, name: String, startedAt: Int64, _ session: PostgreSQLSession) throws {
        _ = try session.execute(
            """
            INSERT INTO store_processes (node, session, name, started_at, beat, hears, facts)
            VALUES ($1, $2, $3, $4, 0, FALSE, $5)
            ON CONFLICT (node) DO UPDATE SET session = excluded.session, name = excluded.name,
                started_at = excluded.started_at, beat = 0, hears = FALSE, facts = excluded.facts
            """, [process.node, process.session, name, startedAt, process.facts])
    }

    /// The version of the program that last had the schemas alone; nil for none.
    func programVersion(_ session: PostgreSQLSession) throws -> String? {
        try session.query("SELECT version FROM store_version WHERE id = 1", []).first?.string(0)
    }

    /// Records the version of the program that has the schemas alone.
    func setProgramVersion(_ version: String, _ session: PostgreSQLSession) throws {
        _ = try session.execute(
            """
            INSERT INTO store_version (id, version) VALUES (1, $1)
            ON CONFLICT (id) DO UPDATE SET version = excluded.version
            """, [version])
    }

    /// Records that a process has ended in order, so that nobody waits for it, and releases its locks.
    func leave(node: Int, session id: String, _ session: PostgreSQLSession) throws {
        _ = try session.execute(
            "UPDATE store_processes SET beat = 0, hears = FALSE WHERE node = $1 AND session = $2", [node, id])
        _ = try session.query("SELECT pg_advisory_unlock_all()", [])
    }

    // MARK: Losses

    /// PostgreSQL's number of the table of losses, which is the same on a standby, and another one after a restore and
    /// after a loss was accepted; nil when there is no table.
    func lossesNumber(_ session: PostgreSQLSession) throws -> Int64? {
        try session.query("SELECT CAST(CAST(to_regclass('lost_changes') AS OID) AS BIGINT)", [])
            .first?.optionalInt64(0)
    }

    /// Whether a process has recorded that the server lacks confirmed changes.
    func hasLoss(_ session: PostgreSQLSession) throws -> Bool {
        try !session.query("SELECT node FROM lost_changes LIMIT 1", []).isEmpty
    }

    /// Makes the session's later commits wait for no standby. A promoted server may wait for one that it does not have.
    private func commitLocally(_ session: PostgreSQLSession) throws {
        _ = try session.command("SET synchronous_commit = local")
    }

    /// Records that the server lacks changes that were confirmed to a process, unless a restore was made or a loss was
    /// accepted since the process joined. The session's later commits wait for no standby.
    ///
    /// - Parameter losses: The number of the table of losses when the process joined.
    func recordLoss(by node: Int, name: String, losses: Int64, _ session: PostgreSQLSession) throws {
        try commitLocally(session)
        _ = try session.execute(
            """
            INSERT INTO lost_changes (node, name, noticed_at)
            SELECT $1, $2, CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)
            WHERE CAST(CAST(to_regclass('lost_changes') AS OID) AS BIGINT) = $3
            ON CONFLICT (node) DO NOTHING
            """, [node, name, losses])
    }

    /// Removes the records of losses and returns them by node number. There may be no schema. A process that joined
    /// before and comes back later records none any more. Do not use the session afterwards.
    func removeLosses(_ session: PostgreSQLSession) throws -> [RecordedLoss] {
        guard try lossesNumber(session) != nil else { return [] }
        try commitLocally(session)
        _ = try session.command("BEGIN; LOCK TABLE lost_changes")
        let losses = try session.query("SELECT node, name, noticed_at FROM lost_changes ORDER BY node", []).map { row in
            RecordedLoss(node: try row.int(0), process: try row.string(1), noticedAt: try row.int64(2))
        }
        // An administrator may accept the loss; the new table belongs to the processes' role, as the old one did.
        let owner = try session.query(
            """
            SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_catalog.pg_class
            WHERE oid = to_regclass('lost_changes')
            """, []
        ).first?.string(0)
        // Without a loss, the table stays and keeps its number.
        var replacement = losses.isEmpty ? "" : "DROP TABLE lost_changes; \(ProcessesSchema.losses); "
        if let owner, !losses.isEmpty { replacement += "ALTER TABLE lost_changes OWNER TO \(owner); " }
        _ = try session.command("\(replacement)COMMIT")
        return losses
    }

    // MARK: Beats

    /// The answer to a beat.
    struct Beat {
        /// The server's time, in milliseconds; nil when the process's row is not there any more.
        var time: Int64?
        /// The number of beats until this one.
        var beats: Int64 = 0
        /// Whether a process has recorded that the server lacks confirmed changes.
        var hasLoss = false
        /// The last version of each node.
        var versions: [Int: Int64] = [:]
        /// The other nodes' last processes: the time of the last beat, and the facts.
        var others: [Int: (beat: Int64, facts: String)] = [:]
    }

    /// Gives a sign of life, and reads those of the others, the versions and the losses, in one round trip.
    ///
    /// The commit waits for a synchronous standby, as those of purchases do: after a standby was promoted, a missing
    /// beat must mean that confirmed changes may be missing, too.
    func beat(node: Int, session id: String, facts: String, hears: Bool, _ session: PostgreSQLSession) throws -> Beat {
        let rows = try session.query(
            """
            WITH own AS (
                UPDATE store_processes
                SET beat = CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT), beats = beats + 1,
                    facts = $3, hears = $4
                WHERE node = $1 AND session = $2 RETURNING beat, beats
            )
            SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT), own.beat, CAST('' AS TEXT) FROM own
            UNION ALL SELECT CAST(1 AS BIGINT), v.node, v.version, CAST('' AS TEXT) FROM change_versions v
            UNION ALL SELECT CAST(2 AS BIGINT), p.node, p.beat, p.facts FROM store_processes p WHERE p.node <> $1
            UNION ALL SELECT CAST(3 AS BIGINT), l.node, l.noticed_at, CAST('' AS TEXT) FROM lost_changes l
            UNION ALL SELECT CAST(4 AS BIGINT), CAST($1 AS BIGINT), own.beats, CAST('' AS TEXT) FROM own
            """, [node, id, facts, hears] as [any SQLConvertible])
        var beat = Beat()
        for row in rows {
            let (node, number) = (try row.int(1), try row.int64(2))
            switch try row.int(0) {
            case 0: beat.time = number
            case 1: beat.versions[node] = number
            case 3: beat.hasLoss = true
            case 4: beat.beats = number
            default: beat.others[node] = (number, try row.string(3))
            }
        }
        return beat
    }

    /// The server's time, in milliseconds since 1970.
    func time(_ session: PostgreSQLSession) throws -> Int64 {
        try session.query("SELECT CAST(1000 * EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)", []).first?.int64(0)
            ?? 0
    }

    /// Whether the server is a standby.
    func isStandby(_ session: PostgreSQLSession) throws -> Bool {
        try session.query("SELECT pg_is_in_recovery()", []).first?.bool(0) ?? false
    }

    // MARK: Locks

    /// Tries to take the lock of the store, alone or together with others.
    func takeStore(alone: Bool, _ session: PostgreSQLSession) throws -> Bool {
        let function = alone ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared"
        return try session.query("SELECT \(function)(CAST($1 AS BIGINT))", [storeKey]).first?.bool(0) ?? false
    }

    /// Keeps the lock of the store together with others instead of alone.
    func shareStore(_ session: PostgreSQLSession) throws {
        guard try takeStore(alone: false, session) else {
            throw DatabaseError(.unavailable, "the lock of the store cannot be shared")
        }
        _ = try session.query("SELECT pg_advisory_unlock(CAST($1 AS BIGINT))", [storeKey])
    }

    /// Tries to take the lock of a node number.
    func takeNode(_ node: Int, _ session: PostgreSQLSession) throws -> Bool {
        try session.query(
            "SELECT pg_try_advisory_lock(CAST($1 AS INTEGER), CAST($2 AS INTEGER))", [nodeKey, Int64(node)]
        ).first?.bool(0) ?? false
    }

    /// The node numbers that are held now.
    func heldNodes(_ session: PostgreSQLSession) throws -> Set<Int> {
        let rows = try session.query(
            """
            SELECT CAST(objid AS BIGINT) FROM pg_catalog.pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND CAST(classid AS BIGINT) = $1
                AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
            """, [nodeKey])
        return Set(try rows.map { try $0.int(0) })
    }
}
