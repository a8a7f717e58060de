import Logging

/// The membership of a process among those that use the same schemas of a PostgreSQL database: its node number, the
/// changes of the others, and the right to use the database.
///
/// A membership holds session-level advisory locks on a connection of its own: that of the store, shared with the other
/// members, and that of its node number, which no other process can have at the same time. PostgreSQL releases them
/// when the connection ends. While the connection is broken, and when PostgreSQL has not answered on it for five
/// seconds, transactions of databases that were opened with this membership fail with
/// ``DatabaseError/Code/unavailable``. So do those whose connection leads to another server, as to a standby that was
/// promoted. The process tries to take its locks again until it succeeds or another process has them.
///
/// A process may keep what it has read from the database in memory if it tells the others of its changes
/// (``Connection/announce(_:_:isAwaited:)``) and applies the changes that they announce (``hear(_:)``). It may use
/// these values without a query only while ``isFresh`` is true. So once ``Database/write(_:)`` has returned, no process
/// acts on a value from before an awaited change, even if one of them hangs.
public final class Membership: Fence {
    /// The times that tests change.
    struct Timing: Sendable {
        /// The time between two beats, by which the process shows that it lives and asks for versions.
        var beat = Duration.milliseconds(250)
        /// How long what is kept may be used after a beat whose changes are applied.
        var lease = Duration.seconds(1)
        /// How much longer writers wait for a process that acknowledges nothing, since clocks run differently fast.
        var slack = Duration.milliseconds(250)
        /// The greatest age of a beat whose changes are applied, for ``Membership/isCurrent``.
        var current = Duration.seconds(5)
        /// The greatest age of an answered beat with which transactions run. PostgreSQL ends a silent session only
        /// after 30 seconds, so no other process has got the node number from this server by then. Another server,
        /// after a failover, gets no transactions before it has given the number to this process.
        var held = Duration.seconds(5)
        /// The time in which PostgreSQL must answer on the connection.
        var patience = Duration.seconds(4)
        /// How long the start waits for a lock that another process holds. The session of a process that was just
        /// killed may still be ending.
        var entrance = Duration.seconds(5)
        /// How long the start waits for a process that migrates the schemas.
        var migration = Duration.seconds(60)
        /// The time. Swift's continuous clock continues while the machine is suspended (`CLOCK_BOOTTIME`).
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
        /// The machine's clock, which is compared with PostgreSQL's, in milliseconds since 1970.
        var machine: @Sendable () -> Int64 = MembershipCore.machineTime
    }

    /// The node number, 0 to 63. No other member has it.
    public let node: Int
    /// Whether the process has the schemas alone for now, so that it may migrate them. Call ``share()`` afterwards.
    public let isFirst: Bool
    /// The other processes that lived when this one joined. ``others`` may also have those that were killed in the last
    /// five seconds.
    public let othersAtStart: [ProcessFacts]
    let table: ProcessTable
    private let core: MembershipCore
    private let threads: DatabaseThreads

    /// Joins the processes that use a database, and takes a node number.
    ///
    /// - Parameters:
    ///   - location: A PostgreSQL server and the schema `PREFIX_apps`, which need not exist. The members tell each
    ///     other of themselves in the schema `PREFIX_processes`.
    ///   - name: The name of this process for the others' messages.
    ///   - facts: The facts about this process for the others; the node number is filled in.
    ///   - node: The node number; nil for one that no process has, preferably the one that was free for longest.
    ///   - now: The machine's clock, in milliseconds since 1970. While it differs from PostgreSQL's by more than two
    ///     seconds, transactions fail and ``isCurrent`` is false.
    /// - Throws: ``DatabaseError``: `inUse` when a process has the schemas for itself or the node number, or when 64
    ///   processes run; `clockDiffers`; `isStandby`; `olderSchema`, `newerSchema` and `settingsDiffer` when processes
    ///   of another version run; `invalidLocation` for SQLite and for a connection pooler that gives each transaction
    ///   another session; `unavailable` when the server cannot be reached.
    public convenience init(
        of location: DatabaseLocation, name: String, facts: ProcessFacts, node: Int?,
        now: @escaping @Sendable () -> Int64, logger: Logger
    ) async throws {
        var timing = Timing()
        timing.machine = now
        try await self.init(of: location, name: name, facts: facts, node: node, timing: timing, logger: logger)
    }

    init(
        of location: DatabaseLocation, name: String, facts: ProcessFacts, node: Int?, timing: Timing, logger: Logger
    ) async throws {
        guard case .postgresql(let url, let schema, _) = location else {
            throw DatabaseError(.invalidLocation, "several processes can share a PostgreSQL database only")
        }
        guard node.map({ (0..<ProcessTable.nodes).contains($0) }) ?? true else {
            throw DatabaseError(.invalidLocation, "a node number is 0 to \(ProcessTable.nodes - 1)")
        }
        let table = try ProcessTable(url: url, schema: schema)
        let core = try MembershipCore(facts, timing)
        let threads = DatabaseThreads()
        let place: MembershipThread.Place = try await withCheckedThrowingContinuation { continuation in
            threads.start("postgresql.processes") {
                MembershipThread(core, table, name: name, wanted: node, logger).run { continuation.resume(with: $0) }
            }
        }
        self.node = place.node
        isFirst = place.isFirst
        othersAtStart = place.others
        self.table = table
        self.core = core
        self.threads = threads
    }

    deinit { core.stop() }

    // MARK: The right to use the database

    /// Checks that the process holds its locks.
    ///
    /// - Throws: ``DatabaseError`` `unavailable` while it does not.
    public func check() throws(DatabaseError) { try core.check() }

    /// When the server was started that holds the locks, or held them last, in microseconds since 1970. Transactions
    /// run on no other server.
    public var serverStart: Int64 { core.serverStart }

    /// Lets other processes use the schemas, once the first one has migrated them. Has no effect on others.
    ///
    /// - Throws: ``DatabaseError`` `unavailable` when the connection has broken.
    public func share() async throws {
        guard isFirst else { return }
        let core = core
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            core.share { continuation.resume(with: $0) }
        }
    }

    /// Waits until the process cannot use the database any more, because another one has its node number or has the
    /// schemas for itself, or because the server lacks confirmed changes.
    ///
    /// - Returns: The error; nil when the process has left or the task was cancelled.
    public func whenLost() async -> DatabaseError? {
        for await error in core.losses { return error }
        return nil
    }

    /// Ends the use of the database for good: transactions fail, and ``whenLost()`` returns the error. Call it when the
    /// server turns out to lack a confirmed change.
    public func lose(_ error: DatabaseError) { core.lose(error) }

    /// Releases the locks and tells the others. Do not use the databases afterwards.
    public func leave() async {
        core.stop()
        await threads.ended()
    }

    // MARK: Changes

    /// Whether what the process keeps has all changes that were awaited: it has applied those before a beat at most one
    /// second ago. Costs a load and a look at the clock.
    public var isFresh: Bool { core.isFresh }

    /// Whether the process has applied all changes before a beat at most five seconds ago, and its clock is right.
    /// While it is not, the process must not answer from what it keeps.
    public var isCurrent: Bool { core.isCurrent }

    /// Begins to hear changes. Call it once, when everything that is kept in memory exists.
    ///
    /// - Parameter apply: Applies changes to what the process keeps. It runs one call at a time, in the order of the
    ///   commits. Nil says that something may have been missed, so that everything must be read again; the first call
    ///   has it. A call that throws is followed by one with nil.
    public func hear(_ apply: @escaping @Sendable ([Announcement]?) async throws -> Void) { core.hear(apply) }

    /// Returns when no process uses any more what it kept before the call without having applied the awaited changes
    /// until then, also those of a writer that was killed while it waited. This takes 1.25 seconds.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func outlastLeases() async throws { try await Task.sleep(for: core.timing.lease + core.timing.slack) }

    /// Calls `completion` when all live processes have applied this node's changes up to a version, or can no longer
    /// use what they keep.
    func whenApplied(_ version: Int64, _ completion: @escaping Job.Completion) { core.wait(for: version, completion) }

    /// Keeps a commit that PostgreSQL has confirmed, to look for it after an interruption.
    ///
    /// - Parameters:
    ///   - witness: A query of the schema that has a row as long as the server has the commit; nil for none.
    ///   - version: The version that the commit has announced; nil for none.
    func keep(_ witness: CommitWitness?, _ version: Int64?, in address: PostgreSQLAddress) {
        if witness != nil || version != nil { core.keep(witness, version, in: address) }
    }

    /// Tells the other processes, with the next beat, that a page or a stream may show something new. The words need
    /// not arrive.
    ///
    /// - Parameter topics: Words of at most 80 bytes without spaces; others are left out.
    public func hint(_ topics: [String]) { core.hint(topics) }

    /// The words that other processes give to ``hint(_:)``, from now on. Each call makes a stream of its own.
    public func hints() -> AsyncStream<[String]> { core.hints() }

    // MARK: Processes

    /// The other processes that have shown in the last five seconds that they live, as of the last beat.
    public var others: [ProcessFacts] { core.others }

    /// The other processes that have shown in the last hour that they live, and have not ended in order since, as of
    /// the last beat. Those with a long ``KnownProcess/silence`` were killed, or have lost the database.
    public var known: [KnownProcess] { core.known }

    /// The facts about this process for the others.
    public var facts: ProcessFacts { core.facts }

    /// Changes the facts about this process for the others, with the next beat. The node number stays.
    public func tell(_ facts: ProcessFacts) { core.tell(facts) }

    /// The state for readiness and metrics.
    public var state: MembershipState { core.membershipState }
}

/// The state of a ``Membership``, for readiness and metrics.
public struct MembershipState: Sendable, Equatable {
    /// The time since the last beat whose changes are all applied; without one, since the start.
    public var heardAge: Duration
    /// PostgreSQL's clock minus the machine's, in milliseconds.
    public var clockOffset: Int64
    /// Whether transactions can run.
    public var isHeld: Bool
    /// The reason why the process is not ready: `cannot_hear`, `no_node`, `clock_differs` or `standby`; nil for none.
    public var problem: String?
}
