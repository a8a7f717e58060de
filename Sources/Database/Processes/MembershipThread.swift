import Foundation
import Logging

/// The work of a ``Membership``'s thread: joins the other processes, stays one of them, and joins them again when the
/// connection has broken.
final class MembershipThread {
    /// The place that a process gets when it joins.
    struct Place: Sendable {
        var node: Int
        var isFirst: Bool
        /// The other processes that lived when this one joined.
        var others: [ProcessFacts]
    }

    private enum End {
        case stopped
        case broken
    }

    /// The pause between two attempts to take a lock, in milliseconds.
    private static let pause: Int32 = 300
    /// The pause between two looks at the acknowledgements.
    private static let look = Duration.milliseconds(10)
    /// The beginning of the session's name of a process that may be migrating the schemas.
    private static let starting = "cornerstore starting process"

    let core: MembershipCore
    let table: ProcessTable
    let logger: Logger
    private let name: String
    private let wanted: Int?
    /// Identifies the process in its row.
    let id = UUID().uuidString
    /// Whether the process has the store's lock alone.
    private var isAlone = false
    private(set) var node = 0
    /// The sessions of this process that may have the lock of the node number.
    private var sessions = OwnSessions()
    /// Whether the process has had no beat since its connection broke.
    private var isBroken = false
    /// PostgreSQL's number of the table of losses when the process joined, or when it last found its commits.
    private var losses: Int64?
    private var nextLook = ContinuousClock.now

    /// The changes of all processes.
    var changes = HeardChanges()
    /// Whether the process hears changes on the present connection.
    var hears = false
    /// When the last beat was asked for that told the others of it.
    var lastHearing: ContinuousClock.Instant?
    /// The server's time of the last beat that it has confirmed.
    var lastBeat: Int64 = 0
    /// The number of beats until the last one that the server has confirmed.
    var beats: Int64 = 0
    /// Whether the machine's clock was wrong at the last beat.
    var isClockWrong = false
    /// The time before which changes are not applied again, after a failure.
    var notBefore = ContinuousClock.now
    /// The times in a row that changes could not be applied.
    var failures = 0
    /// The facts that were told last, and their text.
    var facts: (value: ProcessFacts, text: String)?

    init(_ core: MembershipCore, _ table: ProcessTable, name: String, wanted: Int?, _ logger: Logger) {
        self.core = core
        self.table = table
        self.name = name
        self.wanted = wanted
        self.logger = logger
    }

    /// Joins the others, reports the result to `started`, and stays until the thread is stopped or the process cannot
    /// use the database any more.
    func run(_ started: (Result<Place, any Error>) -> Void) {
        defer { core.end() }
        var session: PostgreSQLSession
        do {
            session = try join()
        } catch {
            return started(.failure(error))
        }
        started(.success(Place(node: node, isFirst: isAlone, others: core.others)))
        while serve(session) == .broken {
            core.forgetTimes()
            guard !isAlone else {
                core.lose(DatabaseError(.unavailable, "the connection to PostgreSQL broke during the start"))
                return
            }
            // A connection that breaks before its first beat changes nothing.
            if !isBroken {
                logger.error("the connection to the other processes broke; the node number is requested again")
            }
            isBroken = true
            guard let again = rejoin() else { return }
            session = again
        }
        // No transaction may begin once another process can have the number.
        core.forgetTimes()
        try? table.leave(node: node, session: id, session)
    }

    // MARK: The start

    private func join() throws -> PostgreSQLSession {
        let session = try connect(isStarting: true)
        try checkPooling(session)
        try checkClock(session)
        isAlone = try enter(session)
        let history = SchemaHistory(migrations: ProcessesSchema.migrations, logger: logger)
        if isAlone {
            try PostgreSQLEngine.prepareSchema(table.address, SQLTextCache(), history)
            // Before the caller migrates the other schemas, so that no process of an older version comes back to them.
            try table.setProgramVersion(core.facts.version, session)
        } else {
            try PostgreSQLEngine.checkSchema(table.address, SQLTextCache(), history)
            try show(session, isStarting: false)
        }
        guard try !table.hasLoss(session) else { throw Self.dataLost }
        losses = try table.lossesNumber(session)
        try takeNode(session)
        core.setNode(node)
        core.setServerStart(try session.serverStart())
        let process = ProcessTable.Process(node: node, session: id, beat: 0, facts: try factsText())
        try table.register(process, name: name, startedAt: core.facts.startedAt, session)
        // Of two processes that join at the same moment, at least one sees the other at its second beat.
        try beat(session)
        let others = try beat(session)
        // Among those that lived in the last seconds, only those that live now count for the caller.
        let held = try table.heldNodes(session)
        if let other = others.first(where: { held.contains($0.key) && Self.facts($0.value) == nil }) {
            try? table.leave(node: node, session: id, session)
            throw DatabaseError(
                .settingsDiffer,
                "the process with the node number \(other.key) is of another version; stop it, or start its version")
        }
        core.setOthers(core.others.filter { held.contains($0.node) })
        return session
    }

    private func connect(isStarting: Bool) throws -> PostgreSQLSession {
        let session = try PostgreSQLSession(table.address, SQLTextCache())
        if !isStarting { session.limitWaiting(to: core.timing.patience) }
        guard try !table.isStandby(session) else { throw Self.isStandby }
        _ = try session.command("SET idle_session_timeout = 0")
        try show(session, isStarting: isStarting)
        _ = try session.command("LISTEN \"\(table.changes)\"; LISTEN \"\(table.hints)\"")
        return session
    }

    /// Gives the session the name that the error of a process shows which is refused a lock.
    private func show(_ session: PostgreSQLSession, isStarting: Bool) throws {
        let kind = isStarting ? Self.starting : "cornerstore process"
        _ = try session.query(
            "SELECT set_config('application_name', $1, FALSE)",
            ["\(kind) \(getpid()) on \(ProcessInfo.processInfo.hostName)"])
    }

    /// Checks that the connection leads to one session: it hears its own notification, and stays with its process.
    private func checkPooling(_ session: PostgreSQLSession) throws {
        let process = try self.process(of: session)
        let token = "self \(id)"
        _ = try session.query("SELECT pg_notify($1, $2)", [table.hints, token])
        let end = ContinuousClock.now + .seconds(5)
        var isHeard = false
        while !isHeard, ContinuousClock.now < end, !core.isStopped {
            isHeard = session.notifications().contains { $0.payload == token }
            if !isHeard, session.listen(for: core.waker.descriptor, milliseconds: 100) == .broken { break }
        }
        guard isHeard, try self.process(of: session) == process else {
            throw DatabaseError(
                .invalidLocation,
                "the PostgreSQL address leads to a connection pooler that gives each transaction another session; "
                    + "use session pooling or the server itself")
        }
    }

    private func process(of session: PostgreSQLSession) throws -> Int64? {
        try session.query("SELECT CAST(pg_backend_pid() AS BIGINT)", []).first?.int64(0)
    }

    /// Takes the lock of the store, alone if no other process has it.
    ///
    /// - Returns: Whether the process has it alone.
    private func enter(_ session: PostgreSQLSession) throws -> Bool {
        let (begin, timing) = (ContinuousClock.now, core.timing)
        var isNamed = false
        while true {
            if try table.takeStore(alone: true, session) { return true }
            if try table.takeStore(alone: false, session) { return false }
            let owner = try session.owner(ofLock: table.storeKey)
            let waited = ContinuousClock.now - begin
            if waited >= timing.entrance {
                let migrates = owner?.name.hasPrefix(Self.starting) ?? true
                // It may have let go of the lock between the two looks.
                if !migrates, try table.takeStore(alone: false, session) { return false }
                guard migrates, waited < timing.migration else { throw storeInUse(owner) }
                if !isNamed, let owner {
                    logger.notice(
                        "waiting for a process that prepares the database",
                        metadata: ["process": "\(owner.description)"])
                    isNamed = true
                }
            }
            try pause()
        }
    }

    /// Takes the wanted node number, or a free one: first those that no process has had or that were given back, then
    /// the one whose process ended longest ago. A process that lost its connection so finds its own again.
    private func takeNode(_ session: PostgreSQLSession) throws {
        let begin = ContinuousClock.now
        while true {
            let processes = try table.processes(session)
            let beats = Dictionary(processes.map { ($0.node, $0.beat) }) { first, _ in first }
            let all = (0..<ProcessTable.nodes).sorted { (beats[$0] ?? 0, $0) < (beats[$1] ?? 0, $1) }
            for candidate in wanted.map({ [$0] }) ?? all {
                guard try sessions.take(with: session, { try table.takeNode(candidate, session) }) else { continue }
                node = candidate
                return
            }
            guard ContinuousClock.now - begin < core.timing.entrance else {
                guard let wanted else {
                    throw DatabaseError(.inUse, "\(ProcessTable.nodes) processes run already; stop one of them first")
                }
                throw nodeInUse(wanted, try session.owner(ofLock: table.nodeKey, wanted))
            }
            try pause()
        }
    }

    /// Waits before the next attempt.
    ///
    /// - Throws: ``DatabaseError`` `closed` when the thread is stopped.
    private func pause() throws {
        _ = core.waker.isWoken(within: Self.pause)
        core.waker.clear()
        if core.isStopped { throw DatabaseError(.closed, "the process stopped before it joined the store") }
    }

    // MARK: The connection

    /// Works until the connection breaks or the thread is stopped.
    private func serve(_ session: PostgreSQLSession) -> End {
        session.limitWaiting(to: core.timing.patience)
        (hears, lastHearing) = (false, nil)
        var nextBeat = ContinuousClock.now
        while !core.isStopped {
            do {
                try share(session)
                receive(session)
                if ContinuousClock.now >= nextBeat || !hears && core.apply != nil {
                    nextBeat = .now + core.timing.beat
                    try beat(session)
                    sayReturn()
                    receive(session)
                }
                try apply(session)
                try answerWaiters(session)
            } catch {
                if (error as? DatabaseError)?.code == .readOnly { core.setProblem(Self.isStandby) }
                logger.debug("a beat failed", metadata: ["reason": "\(error)"])
                return .broken
            }
            switch session.listen(for: core.waker.descriptor, milliseconds: wait(until: nextBeat)) {
            case .woken: core.waker.clear()
            case .broken: return .broken
            case .quiet: break
            }
        }
        return .stopped
    }

    /// Logs the first beat after the connection broke.
    private func sayReturn() {
        guard isBroken, !core.isStopped else { return }
        isBroken = false
        logger.notice("the node number is held again", metadata: ["node": "\(node)"])
    }

    /// The time until there is something to do, in milliseconds.
    private func wait(until nextBeat: ContinuousClock.Instant) -> Int32 {
        var next = nextBeat
        if core.hasWaiters { next = min(next, nextLook) }
        if notBefore > .now { next = min(next, notBefore) }
        let left = (next - .now) / .milliseconds(1)
        return Int32(min(max(left, 0), 60_000).rounded(.up))
    }

    /// Lets others use the schemas when the caller asked for it.
    private func share(_ session: PostgreSQLSession) throws {
        let answers = core.takeSharing()
        guard !answers.isEmpty else { return }
        let result: Result<Void, any Error> = Result {
            guard isAlone else { return }
            try table.shareStore(session)
            isAlone = false
            try show(session, isStarting: false)
        }
        for answer in answers { answer(result) }
        try result.get()
    }

    private func answerWaiters(_ session: PostgreSQLSession) throws {
        guard let newest = core.newestAwaited, ContinuousClock.now >= nextLook else { return }
        let lease = core.timing.lease + core.timing.slack
        let applied = try table.appliedByAll(of: node, lease: lease, session)
        core.answerWaiters(upTo: applied ?? newest)
        nextLook = .now + Self.look
    }

    // MARK: After a broken connection

    /// Tries to take the locks again until it succeeds. Nil when the thread is stopped or the process cannot use the
    /// database any more.
    private func rejoin() -> PostgreSQLSession? {
        var isSaid = false
        while !core.isStopped {
            do {
                if let session = try again() { return session }
            } catch {
                let code = (error as? DatabaseError)?.code
                core.setProblem(code == .isStandby ? Self.isStandby : nil)
                // No repetition mends a statement that the server refuses.
                let isRefused = code == .invalidSQL && !isSaid
                isSaid = isSaid || isRefused
                logger.log(
                    level: isRefused ? .error : .debug, "the node number cannot be requested",
                    metadata: ["reason": "\(error)"])
            }
            _ = core.waker.isWoken(within: Self.pause)
            core.waker.clear()
        }
        return nil
    }

    private func again() throws -> PostgreSQLSession? {
        let session = try connect(isStarting: false)
        guard try takeStoreAgain(session) else { return nil }
        guard try sessions.take(with: session, { try table.takeNode(node, session) }) else {
            guard let other = try session.owner(ofLock: table.nodeKey, node) else { return nil }
            guard sessions.contains(other) else {
                // The new process cannot know what the server lacks of this one's changes.
                let isLost = try loss(session)?.code == .dataLost
                try lose(isLost ? Self.dataLost : nodeInUse(node, other), session)
                return nil
            }
            // The server has not noticed yet that this session's connection is broken.
            _ = try session.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", [other.process])
            return nil
        }
        // The first beat shows whether others have recorded a loss.
        if let loss = try loss(session) {
            try lose(loss, session)
            return nil
        }
        // If a loss of others was accepted meanwhile, the process has found all of its own.
        losses = try table.lossesNumber(session)
        core.setServerStart(try session.serverStart())
        core.setProblem(nil)
        return session
    }

    /// Takes the lock of the store together with others. Ends the process's use of the database when another process
    /// has it for itself.
    private func takeStoreAgain(_ session: PostgreSQLSession) throws -> Bool {
        if try table.takeStore(alone: false, session) { return true }
        // A process that starts at this moment lets go of the lock when it has prepared the database.
        guard let owner = try session.owner(ofLock: table.storeKey), !owner.name.hasPrefix(Self.starting) else {
            return false
        }
        // It may have let go of the lock between the two looks.
        if try table.takeStore(alone: false, session) { return true }
        core.lose(storeInUse(owner))
        return false
    }

    /// The reason why the process cannot go on after an interruption; nil when it can.
    private func loss(_ session: PostgreSQLSession) throws -> DatabaseError? {
        do {
            return try loss(among: table.processes(session), session)
        } catch let error as DatabaseError where error.code == .invalidSQL {
            // A newer version may have changed the tables.
            if try table.lossesNumber(session) == losses, let used = try table.programVersion(session),
                used != core.facts.version
            {
                return otherVersion(used)
            }
            try checkReplaced(error, session)
            return Self.dataLost
        }
    }

    /// Checks that a statement failed since the tables are gone, as after a restore. Another reason, such as a missing
    /// privilege, says nothing about the changes.
    ///
    /// - Throws: `error` when the tables were not replaced.
    private func checkReplaced(_ error: DatabaseError, _ session: PostgreSQLSession) throws {
        if try table.lossesNumber(session) == losses { throw error }
    }

    private func loss(among processes: [ProcessTable.Process], _ session: PostgreSQLSession) throws -> DatabaseError? {
        guard let own = processes.first(where: { $0.node == node }) else { return Self.dataLost }
        let other = try otherVersion(among: processes, session)
        do {
            // A beat shows a loss only if one was lost too, and there are four in a second. The number may be that of
            // an earlier process, if the server lacks the beginning of this one.
            let isKept = try core.confirmedCommits.areKept(
                by: table, node: node, patience: core.timing.patience, session)
            guard isKept, own.session != id || own.beats >= beats else { return Self.dataLost }
        } catch let error as DatabaseError where error.code == .invalidSQL {
            // A newer version may have changed the tables.
            guard let other else { throw error }
            return other
        }
        if let other { return other }
        guard own.session == id else {
            return DatabaseError(
                .inUse, "another process has had the node number \(node) since the connection broke; start again")
        }
        return nil
    }

    /// The error about a process of another version that has used the schemas since the last beat; nil for none.
    private func otherVersion(
        among processes: [ProcessTable.Process], _ session: PostgreSQLSession
    ) throws -> DatabaseError? {
        let version = core.facts.version
        if let used = try table.programVersion(session), used != version { return otherVersion(used) }
        for other in processes where other.node != node && other.beat > lastBeat {
            let used = Self.facts(other.facts)?.version
            guard used == version else { return otherVersion(used) }
        }
        return nil
    }

    /// Ends this process's use of the database. If the server lacks changes, that is recorded first: the other
    /// processes end as well, and none starts. This one does not end before, since it could be started again and sell.
    private func lose(_ error: DatabaseError, _ session: PostgreSQLSession) throws {
        if error.code == .dataLost, let losses {
            do {
                try table.recordLoss(by: node, name: name, losses: losses, session)
            } catch let failure as DatabaseError where failure.code == .invalidSQL {
                try checkReplaced(failure, session)
            }
        }
        core.lose(error)
    }

    // MARK: Errors

    static let isStandby = DatabaseError(
        .isStandby, "the PostgreSQL server is a standby, which refuses changes; use the address of the primary")

    static let dataLost = DatabaseError(
        .dataLost,
        "the PostgreSQL server lacks changes that were confirmed, as a standby that lagged when it was promoted; bring "
            + "back the former primary or restore a backup, or go on without these changes after “cornerstore store "
            + "accept-loss”")

    private func otherVersion(_ version: String?) -> DatabaseError {
        DatabaseError(
            .settingsDiffer,
            "a process of \(version.map { "version \($0)" } ?? "another version") began to use the database while "
                + "this one, of version \(core.facts.version), was without connection")
    }

    private func storeInUse(_ owner: LockOwner?) -> DatabaseError {
        DatabaseError(
            .inUse,
            "\(owner?.description ?? "a process that has ended by now"); it has the database for itself: to run "
                + "several processes, start every one with the same --store-key")
    }

    private func nodeInUse(_ node: Int, _ owner: LockOwner?) -> DatabaseError {
        DatabaseError(
            .inUse, "the node number \(node) is that of \(owner?.description ?? "a process that has ended by now")")
    }
}
