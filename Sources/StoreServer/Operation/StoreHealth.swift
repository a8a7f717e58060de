import Database
import Logging
import Synchronization

/// Whether the server can answer requests, for load balancers.
final class StoreHealth: Sendable {
    /// Why it cannot. The raw value is the `reason` of `GET /ready`.
    enum Problem: String, Sendable, CaseIterable {
        /// The server is stopping. Open requests are still answered.
        case stopping
        /// A database does not answer.
        case database
        /// The database server is a standby, which takes no writes.
        case standby
        /// The process has lost its number in transaction identifiers, or cannot record that it lives, as while commits
        /// wait for a synchronous standby that is away.
        case noNode = "no_node"
        /// The machine's clock differs from the database server's.
        case clockDiffers = "clock_differs"
        /// The process has not heard the others for two seconds.
        case cannotHear = "cannot_hear"
        /// An older process has other catalog files, or a file of this one describes an app that the store manages.
        case catalogDiffers = "catalog_differs"
        /// No synchronous standby confirms the database server's transactions: none is configured, as after a standby
        /// was promoted, or the database's role may not see it.
        case noStandby = "no_standby"
    }

    /// A problem, or nil, and a detail for the log.
    private struct Finding: Sendable {
        var problem: Problem?
        var reason = ""
    }

    private struct State {
        var isStopping = false
        /// The problem that was logged last; nil after a ready one.
        var logged: Problem?
        /// The last look at the databases, or the one under way.
        var look: Task<Finding, Never>?
        /// When that look ended; nil while it is under way.
        var lookedAt: ContinuousClock.Instant?
        /// Whether the databases have not answered yet. The look may have ended without their answer.
        var isAsking = false
    }

    /// How long a finding about the databases is used. Anyone can ask for readiness, without a token, and must not
    /// thereby keep the databases busy.
    static let freshness = Duration.milliseconds(500)

    private let state = Mutex(State())
    private let patience: Duration
    private let check: @Sendable () async throws -> Void
    private let process: (@Sendable () -> ProcessState)?
    private let hasStandby: (@Sendable () async throws -> Bool)?
    private let now: @Sendable () -> ContinuousClock.Instant
    private let logger: Logger

    /// - Parameters:
    ///   - check: throws when a database does not answer.
    ///   - process: this process among the others of the store; nil for a store of one process.
    ///   - hasStandby: whether a synchronous standby runs; nil when none is required.
    ///   - patience: how long a look waits for the databases. PostgreSQL may answer much later, or, on a dead
    ///     connection, not at all.
    init(
        check: @escaping @Sendable () async throws -> Void, process: (@Sendable () -> ProcessState)?,
        hasStandby: (@Sendable () async throws -> Bool)?, patience: Duration = .seconds(5),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, logger: Logger
    ) {
        self.check = check
        self.process = process
        self.hasStandby = hasStandby
        self.patience = patience
        self.now = now
        self.logger = logger
    }

    /// Why the server cannot answer requests; nil when it can. A change is logged once.
    func problem() async -> Problem? {
        let finding = await look()
        let problem = finding.problem
        let isNews = state.withLock { state in
            defer { state.logged = problem }
            return state.logged != problem
        }
        if isNews, problem != .stopping {
            if let problem {
                logger.warning(
                    "not ready", metadata: ["reason": "\(problem.rawValue)", "problem": "\(finding.reason)"])
            } else {
                logger.notice("ready again")
            }
        }
        return problem
    }

    /// From now on the server is not ready: it is about to stop.
    func stop() { state.withLock { $0.isStopping = true } }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    private func look() async -> Finding {
        let stopping = Finding(problem: .stopping, reason: "the server stops")
        if isStopping { return stopping }
        if let found = process?() {
            if let name = found.membership.problem {
                return Finding(
                    problem: Problem(rawValue: name) ?? .cannotHear, reason: "the connection to the other processes")
            }
            guard found.isCurrent else {
                return Finding(
                    problem: .cannotHear, reason: "changes of other processes are not applied yet")
            }
            if let other = found.otherCatalog {
                return Finding(
                    problem: .catalogDiffers,
                    reason: "the catalog files of \(other.name), process \(other.node), differ")
            }
            if let app = found.doublyDescribed.first {
                return Finding(
                    problem: .catalogDiffers,
                    reason: "a catalog file describes the app \(app), which the store manages")
            }
        }
        let found = await lookAtDatabases()
        // The stop may have begun meanwhile.
        return isStopping ? stopping : found
    }

    /// Asks the databases, unless that was done a moment ago or is under way. While they owe an answer, the last look
    /// holds, and they are not asked again.
    private func lookAtDatabases() async -> Finding {
        let look = state.withLock { state -> Task<Finding, Never> in
            let isFresh = state.lookedAt.map { now() - $0 < Self.freshness } ?? true
            if let look = state.look, state.isAsking || isFresh { return look }
            let new = Task { await self.ask() }
            (state.look, state.lookedAt, state.isAsking) = (new, nil, true)
            return new
        }
        return await look.value
    }

    /// Asks the databases, and waits for their answer for a limited time.
    private func ask() async -> Finding {
        let silence = Finding(problem: .database, reason: "no answer within \(patience)")
        let (findings, tell) = AsyncStream.makeStream(of: Finding.self)
        Task {
            let finding = await self.askDatabases()
            self.state.withLock { $0.isAsking = false }
            tell.yield(finding)
        }
        let timer = Task { [patience] in
            try? await Task.sleep(for: patience)
            tell.yield(silence)
        }
        defer {
            timer.cancel()
            state.withLock { $0.lookedAt = now() }
        }
        for await finding in findings { return finding }
        return silence
    }

    private func askDatabases() async -> Finding {
        do {
            try await check()
            if let hasStandby, try await !hasStandby() {
                return Finding(
                    problem: .noStandby,
                    reason:
                        "--require-standby is set, and the database server shows no synchronous standby. Connect one, "
                        + "or GRANT pg_monitor to the store's role, which may not see it otherwise")
            }
        } catch {
            return Finding(problem: .database, reason: "\(error)")
        }
        return Finding()
    }
}
