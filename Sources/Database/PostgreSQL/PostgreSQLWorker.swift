import Foundation
import Logging

/// What one thread of the pool does: keeps a connection and runs transactions on it.
final class PostgreSQLWorker {
    private let address: PostgreSQLAddress
    private let texts: SQLTextCache
    private let limits: Database.Limits
    private let soleUse: SoleUse?
    private let logger: Logger
    private var session: PostgreSQLSession?

    /// - Parameters:
    ///   - limits: how long a change may take, and how long it is tried when others keep contradicting it.
    ///   - soleUse: without which nothing is read or written; nil when several processes may.
    init(
        _ address: PostgreSQLAddress, _ texts: SQLTextCache, _ limits: Database.Limits, soleUse: SoleUse?,
        _ logger: Logger
    ) {
        self.address = address
        self.texts = texts
        self.limits = limits
        self.soleUse = soleUse
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
                return try once(job)
            } catch let retry as Retry {
                guard ContinuousClock.now < end else { throw retry.reason }
                logger.debug("transaction repeated", metadata: ["attempt": "\(attempt)", "reason": "\(retry.reason)"])
                Thread.sleep(forTimeInterval: Self.pause(after: attempt))
                attempt += 1
            }
        }
    }

    /// Grows to a tenth of a second, and differs from thread to thread so that rivals part.
    private static func pause(after attempt: Int) -> TimeInterval {
        let longest = min(0.001 * Double(1 << min(attempt, 8)), 0.1)
        return Double.random(in: 0...longest)
    }

    /// Nothing was kept because of a rival, so the whole transaction may be run again.
    private struct Retry: Error {
        let reason: DatabaseError
    }

    private func once(_ job: Job) throws -> Job.Completion {
        let session = try begin(job.access)
        let connection = Connection(session, longest: job.access == .write ? limits.change : nil)
        do {
            let completion = try job.run(on: connection)
            try commit(session)
            return completion
        } catch {
            if !session.isIdle { _ = try? session.command("ROLLBACK") }
            if !session.isIdle { self.session = nil }
            // A closure may have wrapped the failure in an error of its own; the rival is still the reason.
            let cause = connection.failure ?? error as? DatabaseError
            if let cause, cause.code == .serialization { throw Retry(reason: cause) }
            throw error
        }
    }

    private func commit(_ session: PostgreSQLSession) throws(DatabaseError) {
        try soleUse?.check()
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

    /// Begins a transaction. A connection that died while it lay idle is replaced once; nothing was sent on it yet.
    private func begin(_ access: Job.Access) throws -> PostgreSQLSession {
        try soleUse?.check()
        let begin =
            switch access {
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .write: "BEGIN ISOLATION LEVEL SERIALIZABLE"
            }
        if let session {
            do {
                _ = try session.command(begin)
                return session
            } catch {
                logger.warning("connection to PostgreSQL replaced", metadata: ["reason": "\(error)"])
                self.session = nil
            }
        }
        let session = try PostgreSQLSession(address, texts)
        _ = try session.command(begin)
        self.session = session
        return session
    }
}
