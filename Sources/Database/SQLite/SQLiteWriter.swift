import Glibc

/// The one writer: takes all waiting transactions, runs them in one of SQLite's, and commits them with one flush to
/// disk.
///
/// Callers hear of success only after the commit. When one of several fails, all are rolled back and run again, each in
/// a savepoint, so that one's failure is nobody else's. One that took too long is not run again. If the commit fails,
/// every caller of the batch hears of it.
struct SQLiteWriter {
    private let session: SQLiteSession
    private let queue: JobQueue
    private let settings: SQLiteSettings
    private let longest: Duration

    /// - Parameter longest: how long one change may keep the writer.
    init(_ session: SQLiteSession, _ queue: JobQueue, _ settings: SQLiteSettings, longest: Duration) {
        self.session = session
        self.queue = queue
        self.settings = settings
        self.longest = longest
    }

    /// What a batch came to.
    private enum Outcome {
        /// Committed; the ways back to the callers, of those that failed on their own too.
        case committed([Job.Completion])
        /// Nothing was kept of any, because of all.
        case failed(any Error)
        /// Nothing was kept, and one of them may be to blame. One that certainly was has been answered and is gone.
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
        if finish(jobs, apart(&jobs)) { return }
        for job in jobs {
            var alone = [job]
            _ = finish(alone, apart(&alone))
        }
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

    /// The outcome of jobs that were all undone because one failed. If that one took too long, it is answered and
    /// removed: run again, it would keep the writer for as long again.
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
            // A deferred foreign key is checked only here: one transaction's fault must not be another's failure.
            return error.code == .foreignKeyViolation && count > 1 ? .undecided : .failed(error)
        }
    }
}
