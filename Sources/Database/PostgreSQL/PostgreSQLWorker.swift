import Foundation
import Logging

/// The work of one thread of the pool: keeps a connection and runs transactions on it.
final class PostgreSQLWorker {
    private let address: PostgreSQLAddress
    private let texts: SQLTextCache
    private let limits: Database.Limits
    private let fence: (any Fence)?
    /// Tells the other processes of changes; nil when there are none.
    private let membership: Membership?
    private let repeated: RepeatCount
    private let turns: WriteTurns
    private let logger: Logger
    private var session: PostgreSQLSession?

    /// - Parameters:
    ///   - limits: How long a write transaction may take, and how long it is repeated after serialization failures.
    ///   - fence: The right without which every transaction fails; nil when any process may use the database.
    ///   - turns: The turns of all the pool's threads.
    ///   - repeated: Counts the repetitions of all the pool's threads.
    init(
        _ address: PostgreSQLAddress, _ texts: SQLTextCache, _ limits: Database.Limits,
        fence: (any Fence)?, turns: WriteTurns, repeated: RepeatCount, _ logger: Logger
    ) {
        self.address = address
        self.texts = texts
        self.limits = limits
        self.fence = fence
        membership = fence as? Membership
        self.repeated = repeated
        self.turns = turns
        self.logger = logger
    }

    /// Runs a job to its end and answers its caller.
    func perform(_ job: Job) {
        do {
            let completion = try retrying(job)
            completion()
        } catch {
            job.fail(error)
        }
    }

    private func retrying(_ job: Job) throws -> Job.Completion {
        let end = ContinuousClock.now + limits.contention
        var attempt = 1
        while true {
            do {
                guard job.access == .write else { return try once(job) }
                return try turns.run(alone: attempt > WriteTurns.mostFailures) { try once(job) }
            } catch let retry as Retry {
                guard ContinuousClock.now < end else { throw retry.reason }
                logger.debug("transaction repeated", metadata: ["attempt": "\(attempt)", "reason": "\(retry.reason)"])
                repeated.add()
                Thread.sleep(forTimeInterval: pause(after: attempt))
                attempt += 1
            }
        }
    }

    /// The pause before the next attempt, in seconds: random, so that two conflicting threads do not meet again, and
    /// growing to at most 0.1. A transaction that runs alone in its process meets only those of other processes, which
    /// do not know of its turn, so it keeps out of their way for longer.
    private func pause(after attempt: Int) -> TimeInterval {
        if membership != nil, attempt > WriteTurns.mostFailures { return Double.random(in: 0...0.25) }
        let longest = min(0.001 * Double(1 << min(attempt, 8)), 0.1)
        return Double.random(in: 0...longest)
    }

    /// A serialization failure. The transaction was rolled back and may run again.
    private struct Retry: Error {
        let reason: DatabaseError
    }

    private func once(_ job: Job) throws -> Job.Completion {
        let session = try begin(job.access)
        let connection = Connection(
            session, longest: job.access == .write ? limits.change : nil, isShared: membership != nil)
        do {
            let completion = try job.run(on: connection)
            let version = try announce(connection.announcements, session)
            try commit(session)
            membership?.keep(connection.commitWitness, version, in: address)
            guard let version, let membership, connection.isAwaited else { return completion }
            return { membership.whenApplied(version, completion) }
        } catch {
            if !session.isIdle { _ = try? session.command("ROLLBACK") }
            if !session.isIdle { self.session = nil }
            // The closure may have wrapped the serialization failure in an error of its own.
            let cause = connection.failure ?? error as? DatabaseError
            if let cause, cause.code == .serialization { throw Retry(reason: cause) }
            throw error
        }
    }

    /// Announces a transaction's changes as a part of it, and returns the version that they make; nil without changes.
    private func announce(
        _ announcements: [Announcement], _ session: PostgreSQLSession
    ) throws -> Int64? {
        guard let membership, !announcements.isEmpty else { return nil }
        let word = address.schema.split(separator: "_").last ?? ""
        let told = announcements.map { Announcement(topic: "\(word).\($0.topic)", detail: $0.detail) }
        return try membership.table.announce(told, by: membership.node, session)
    }

    private func commit(_ session: PostgreSQLSession) throws(DatabaseError) {
        try fence?.check()
        try checkServer(session)
        guard try confirm(session) == "COMMIT" else {
            throw DatabaseError(.invalidSQL, "the server rolled the transaction back")
        }
    }

    private func confirm(_ session: PostgreSQLSession) throws(DatabaseError) -> String {
        do {
            return try session.command("COMMIT")
        } catch {
            guard error.code == .unavailable else { throw error }
            throw DatabaseError(.unavailable, "\(error.detail); it is not known whether the transaction was committed")
        }
    }

    /// Begins a transaction. A connection that broke while it was idle is replaced once, which loses no statement.
    private func begin(_ access: Job.Access) throws -> PostgreSQLSession {
        try fence?.check()
        let begin =
            switch access {
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .write: "BEGIN ISOLATION LEVEL SERIALIZABLE"
            }
        if let session {
            do {
                try checkServer(session)
                _ = try session.command(begin)
                return session
            } catch {
                logger.warning("connection to PostgreSQL replaced", metadata: ["reason": "\(error)"])
                self.session = nil
            }
        }
        let session = try PostgreSQLSession(address, texts)
        try checkServer(session)
        _ = try session.command(begin)
        self.session = session
        return session
    }

    /// Checks that a connection leads to the server that holds the process's locks. After a failover, a new one can
    /// reach the promoted server while the fence still relies on the last answer of the former one. Call it after the
    /// fence's check.
    private func checkServer(_ session: PostgreSQLSession) throws(DatabaseError) {
        guard let fence, try session.serverStart() != fence.serverStart else { return }
        throw DatabaseError(
            .unavailable, "the PostgreSQL server is not the one that holds this process's locks; try again later")
    }
}
