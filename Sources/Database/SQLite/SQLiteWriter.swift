internal import GRDB

/// The one writer: takes all waiting transactions, runs each in a savepoint, and commits them with one flush to disk.
///
/// Callers hear of success only after the commit. If the commit fails, every caller of the batch does.
struct SQLiteWriter: Sendable {
    let pool: DatabasePool
    let queue: JobQueue
    let texts: SQLTextCache
    let settings: SQLiteSettings

    /// What a batch came to.
    private enum Outcome {
        /// Committed; the ways back to the callers, of those that failed on their own too.
        case committed([Job.Completion])
        /// Nothing was kept of these, because of all.
        case failed([Job], any Error)
        /// Nothing was kept of these, and one of them may be to blame: each must be tried alone.
        case undecided([Job])
    }

    /// Works until the queue is closed and empty.
    func run() {
        while let first = queue.next() {
            settle(first, alone: false)
        }
    }

    private func settle(_ first: Job, alone: Bool) {
        switch pool.writeWithoutTransaction({ commit(first, alone, $0) }) {
        case .committed(let completions):
            for completion in completions { completion() }
        case .failed(let jobs, let error):
            for job in jobs { job.fail(error) }
        case .undecided(let jobs):
            for job in jobs { settle(job, alone: true) }
        }
    }

    private func commit(_ first: Job, _ alone: Bool, _ database: GRDB.Database) -> Outcome {
        let transaction = SQLiteTransaction(database, texts)
        var jobs = [first]
        do {
            try transaction.begin()
        } catch {
            return .failed(jobs, DatabaseError(anySQLite: error))
        }
        let end = ContinuousClock.now + settings.longestBatch
        var completions: [Job.Completion] = []
        while true {
            let job = jobs[jobs.count - 1]
            do {
                completions.append(try transaction.savepoint { try job.run(on: Connection(transaction.session)) })
            } catch {
                let failure = DatabaseError.translating(error)
                guard transaction.isOpen else { return jobs.count > 1 ? .undecided(jobs) : .failed(jobs, failure) }
                completions.append { job.fail(failure) }
            }
            guard !alone, jobs.count < settings.largestBatch, ContinuousClock.now < end,
                let next = queue.nextIfAny()
            else { break }
            jobs.append(next)
        }
        do {
            try transaction.commit()
            return .committed(completions)
        } catch {
            transaction.rollback()
            let error = DatabaseError(anySQLite: error)
            // A deferred foreign key is checked only here: one transaction's fault must not be another's failure.
            return error.code == .foreignKeyViolation && jobs.count > 1 ? .undecided(jobs) : .failed(jobs, error)
        }
    }
}
