import Glibc

/// The one writer: takes all waiting transactions, runs them in one of SQLite's, and commits them with one flush to
/// disk.
///
/// Callers hear of success only after the commit. When one of several fails, all are rolled back and run again, each in
/// a savepoint, so that one's failure is nobody else's. If the commit fails, every caller of the batch hears of it.
struct SQLiteWriter {
    private let session: SQLiteSession
    private let queue: JobQueue
    private let settings: SQLiteSettings

    init(_ session: SQLiteSession, _ queue: JobQueue, _ settings: SQLiteSettings) {
        self.session = session
        self.queue = queue
        self.settings = settings
    }

    /// What a batch came to.
    private enum Outcome {
        /// Committed; the ways back to the callers, of those that failed on their own too.
        case committed([Job.Completion])
        /// Nothing was kept of any, because of all.
        case failed(any Error)
        /// Nothing was kept, and one of them may be to blame.
        case undecided
    }

    /// Works until the queue is closed and empty.
    ///
    /// - Parameter committed: called after each batch.
    func run(_ committed: () -> Void) {
        while let jobs = queue.next(atMost: settings.largestBatch) {
            settle(jobs)
            committed()
        }
    }

    private func settle(_ first: [Job]) {
        var jobs = first
        if finish(jobs, together(&jobs)) { return }
        if finish(jobs, apart(jobs)) { return }
        for job in jobs { _ = finish([job], apart([job])) }
    }

    /// Answers the callers, unless it is undecided what to answer.
    private func finish(_ jobs: @autoclosure () -> [Job], _ outcome: Outcome) -> Bool {
        switch outcome {
        case .committed(let completions):
            for completion in completions { completion() }
        case .failed(let error):
            for job in jobs() { job.fail(error) }
        case .undecided:
            return false
        }
        return true
    }

    /// Runs the jobs, and those that arrive meanwhile, in one transaction. Whatever fails undoes all.
    private func together(_ jobs: inout [Job]) -> Outcome {
        do {
            try session.beginWriting()
        } catch {
            return .failed(error)
        }
        let end = ContinuousClock.now + settings.longestBatch
        var completions: [Job.Completion] = []
        completions.reserveCapacity(jobs.count)
        do {
            while completions.count < jobs.count {
                completions.append(try jobs[completions.count].run(on: Connection(session)))
                if completions.count == jobs.count, jobs.count < settings.largestBatch, ContinuousClock.now < end {
                    jobs += arrivals(
                        atMost: settings.largestBatch - jobs.count, isSmall: jobs.count < settings.smallBatch)
                }
            }
        } catch {
            session.rollback()
            return jobs.count > 1 ? .undecided : .failed(error)
        }
        return commit(completions, jobs.count)
    }

    /// The jobs that arrived meanwhile. When there are none for a small batch, those who would bring some get the
    /// processor first: where it is busy, they bring several, which then share a flush; where it is not, this costs
    /// nothing. A larger batch is flushed while they prepare the next.
    private func arrivals(atMost most: Int, isSmall: Bool) -> [Job] {
        let waiting = queue.nextIfAny(atMost: most)
        guard waiting.isEmpty, isSmall else { return waiting }
        sched_yield()
        return queue.nextIfAny(atMost: most)
    }

    /// Runs the jobs in one transaction, each in a savepoint of its own.
    private func apart(_ jobs: [Job]) -> Outcome {
        do {
            try session.beginWriting()
        } catch {
            return .failed(error)
        }
        var completions: [Job.Completion] = []
        for job in jobs {
            do {
                completions.append(try session.savepoint { try job.run(on: Connection(session)) })
            } catch {
                guard session.isInsideTransaction else { return jobs.count > 1 ? .undecided : .failed(error) }
                completions.append { job.fail(error) }
            }
        }
        return commit(completions, jobs.count)
    }

    private func commit(_ completions: [Job.Completion], _ count: Int) -> Outcome {
        do {
            try session.commit()
            return .committed(completions)
        } catch {
            session.rollback()
            // A deferred foreign key is checked only here: one transaction's fault must not be another's failure.
            return error.code == .foreignKeyViolation && count > 1 ? .undecided : .failed(error)
        }
    }
}
