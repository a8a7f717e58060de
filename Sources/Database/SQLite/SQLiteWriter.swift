import Glibc

/// The one writer: takes all waiting jobs, runs them in one SQLite transaction, and commits them with one flush to
/// disk.
///
/// Callers get their results only after the commit. When one of several jobs fails, all are rolled back and run again,
/// each in a savepoint, so that the failure of one job does not affect the others. A job that took too long is not run
/// again. If the commit fails, all jobs of the batch fail.
struct SQLiteWriter {
    private let session: SQLiteSession
    private let queue: JobQueue
    private let settings: SQLiteSettings
    private let longest: Duration

    /// - Parameter longest: The longest time that one transaction may take.
    init(_ session: SQLiteSession, _ queue: JobQueue, _ settings: SQLiteSettings, longest: Duration) {
        self.session = session
        self.queue = queue
        self.settings = settings
        self.longest = longest
    }

    /// The outcome of a batch.
    private enum Outcome {
        /// The batch was committed. The completions answer all callers, including those whose own job failed.
        case committed([Job.Completion])
        /// The batch was rolled back, and all its jobs fail.
        case failed(any Error)
        /// The batch was rolled back, and one of its jobs may be the cause. A job that certainly was the cause has its
        /// answer and is no longer in the batch.
        case undecided
    }

    /// Runs batches until the queue is closed and empty.
    ///
    /// - Parameter committed: Called after each batch.
    func run(_ committed: () -> Void) {
        while let jobs = queue.next(atMost: settings.largestBatch) {
            settle(jobs)
            committed()
        }
    }

    private func settle(_ first: [Job]) {
        var jobs = first
        if finish(jobs, together(&jobs)) { return }
        if finish(jobs, apart(&jobs)) { return }
        for job in jobs {
            var alone = [job]
            _ = finish(alone, apart(&alone))
        }
    }

    /// Answers the callers. Returns false for an undecided outcome, for which the jobs must run again.
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

    /// Runs the jobs, and those that arrive meanwhile, in one transaction. A failure of one job rolls back all.
    private func together(_ jobs: inout [Job]) -> Outcome {
        do {
            try session.beginWriting()
        } catch {
            return .failed(error)
        }
        let end = ContinuousClock.now + settings.longestBatch
        var completions: [Job.Completion] = []
        completions.reserveCapacity(jobs.count)
        while completions.count < jobs.count {
            let connection = Connection(session, longest: longest)
            do {
                completions.append(try jobs[completions.count].run(on: connection))
            } catch {
                session.rollback()
                return undecided(&jobs, completions.count, connection, error)
            }
            if completions.count == jobs.count, jobs.count < settings.largestBatch, ContinuousClock.now < end {
                jobs += arrivals(
                    atMost: settings.largestBatch - jobs.count, isSmall: jobs.count < settings.smallBatch)
            }
        }
        return commit(completions, jobs.count)
    }

    /// The jobs that arrived meanwhile. If a small batch gets none, this thread yields the processor once, so that
    /// waiting threads can add jobs that share the flush. On an idle machine this costs nothing. A larger batch is
    /// flushed at once, while other threads prepare the next.
    private func arrivals(atMost most: Int, isSmall: Bool) -> [Job] {
        let waiting = queue.nextIfAny(atMost: most)
        guard waiting.isEmpty, isSmall else { return waiting }
        sched_yield()
        return queue.nextIfAny(atMost: most)
    }

    /// Runs the jobs in one transaction, each in a savepoint of its own.
    private func apart(_ jobs: inout [Job]) -> Outcome {
        do {
            try session.beginWriting()
        } catch {
            return .failed(error)
        }
        var completions: [Job.Completion] = []
        for (index, job) in jobs.enumerated() {
            let connection = Connection(session, longest: longest)
            do {
                completions.append(try session.savepoint { try job.run(on: connection) })
            } catch {
                guard session.isInsideTransaction else { return undecided(&jobs, index, connection, error) }
                completions.append { job.fail(error) }
            }
        }
        return commit(completions, jobs.count)
    }

    /// The outcome of a batch that was rolled back because one job failed. A job that took too long gets its error and
    /// is removed, because a second run would delay the other transactions for as long again.
    private func undecided(
        _ jobs: inout [Job], _ index: Int, _ connection: Connection, _ error: any Error
    ) -> Outcome {
        guard jobs.count > 1 else { return .failed(error) }
        if connection.isOverdue { jobs.remove(at: index).fail(error) }
        return .undecided
    }

    private func commit(_ completions: [Job.Completion], _ count: Int) -> Outcome {
        do {
            try session.commit()
            return .committed(completions)
        } catch {
            session.rollback()
            // Deferred foreign keys are checked only at the commit, and only the job that violates one may fail.
            return error.code == .foreignKeyViolation && count > 1 ? .undecided : .failed(error)
        }
    }
}
