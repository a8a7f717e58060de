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

    private struct State {
        var isStopping = false
        /// The problem that was logged last; nil after a ready one.
        var logged: Problem?
    }

    private let state = Mutex(State())
    private let check: @Sendable () async throws -> Void
    private let process: (@Sendable () -> ProcessState)?
    private let hasStandby: (@Sendable () async throws -> Bool)?
    private let logger: Logger

    /// - Parameters:
    ///   - check: throws when a database does not answer.
    ///   - process: this process among the others of the store; nil for a store of one process.
    ///   - hasStandby: whether a synchronous standby runs; nil when none is required.
    init(
        check: @escaping @Sendable () async throws -> Void, process: (@Sendable () -> ProcessState)?,
        hasStandby: (@Sendable () async throws -> Bool)?, logger: Logger
    ) {
        self.check = check
        self.process = process
        self.hasStandby = hasStandby
        self.logger = logger
    }

    /// Why the server cannot answer requests; nil when it can. A change is logged once.
    func problem() async -> Problem? {
        let (problem, reason) = await look()
        let isNews = state.withLock { state in
            defer { state.logged = problem }
            return state.logged != problem
        }
        if isNews, problem != .stopping {
            if let problem {
                logger.warning("not ready", metadata: ["reason": "\(problem.rawValue)", "problem": "\(reason)"])
            } else {
                logger.notice("ready again")
            }
        }
        return problem
    }

    /// From now on the server is not ready: it is about to stop.
    func stop() { state.withLock { $0.isStopping = true } }

    /// The problem, and a detail for the log.
    private func look() async -> (Problem?, String) {
        if state.withLock({ $0.isStopping }) { return (.stopping, "the server stops") }
        if let found = process?() {
            if let name = found.membership.problem {
                return (Problem(rawValue: name) ?? .cannotHear, "the connection to the other processes")
            }
            guard found.isCurrent else { return (.cannotHear, "changes of other processes are not taken over yet") }
            if let other = found.otherCatalog {
                return (.catalogDiffers, "the catalog files of \(other.name), process \(other.node), differ")
            }
            if let app = found.doublyDescribed.first {
                return (.catalogDiffers, "a catalog file describes the app \(app), which the store manages")
            }
        }
        do {
            try await check()
            if let hasStandby, try await !hasStandby() {
                return (
                    .noStandby,
                    "--require-standby is set, and the database server shows no synchronous standby. Connect one, or "
                        + "GRANT pg_monitor to the store's role, which may not see it otherwise"
                )
            }
        } catch {
            return (.database, "\(error)")
        }
        return (nil, "")
    }
}
