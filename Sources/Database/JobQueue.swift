import Dispatch
import Synchronization

/// Jobs that wait for the threads of a database: first come, first served, bounded in number and in time.
///
/// Of several idle threads the one that worked last gets the next job. Under a light load the same few threads do all
/// the work, and only they hold a connection to PostgreSQL.
final class JobQueue: Sendable {
    private struct State {
        var jobs: [Job] = []
        /// The first job that still waits; what lies before it is removed now and then.
        var head = 0
        /// The threads that wait for a job and have not been woken, each by its semaphore, the last one last.
        var sleepers: [DispatchSemaphore] = []
        var isClosed = false

        var count: Int { jobs.count - head }

        mutating func removeFirst() -> Job {
            let job = jobs[head]
            head += 1
            if head == jobs.count || head > 1024 {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }

        mutating func removeFirst(_ most: Int) -> [Job] {
            if head == 0, jobs.count <= most {
                let all = jobs
                jobs = []
                return all
            }
            let taken = Array(jobs[head...].prefix(most))
            jobs.removeFirst(head + taken.count)
            head = 0
            return taken
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let waitLimit: Duration

    /// Makes a queue that holds at most `capacity` jobs, none of them longer than `waitLimit`.
    init(capacity: Int, waitLimit: Duration) {
        self.capacity = capacity
        self.waitLimit = waitLimit
    }

    /// Queues a job, or fails it at once when the queue is closed or full.
    func add(_ job: Job) {
        let (refusal, sleeper) = state.withLock { append(job, to: &$0) }
        sleeper?.signal()
        if let refusal { job.fail(refusal) }
    }

    private func append(_ job: Job, to state: inout State) -> (refusal: DatabaseError?, wakes: DispatchSemaphore?) {
        if state.isClosed { return (DatabaseError(.closed, "the database is closed"), nil) }
        guard state.count < capacity else {
            return (DatabaseError(.busy, "\(capacity) transactions are waiting already; try again later"), nil)
        }
        state.jobs.append(job)
        return (nil, state.sleepers.popLast())
    }

    /// The next job; waits for one. Nil when the queue is closed and empty.
    func next() -> Job? {
        wait { $0.removeFirst() }
    }

    /// The next jobs, at most so many; waits for one. Nil when the queue is closed and empty.
    func next(atMost most: Int) -> [Job]? {
        wait { $0.removeFirst(most) }
    }

    private func wait<T: Sendable>(_ take: (inout State) -> T) -> T? {
        let sleeper = DispatchSemaphore(value: 0)
        while true {
            let (taken, isClosed) = state.withLock { state -> (T?, Bool) in
                if state.count > 0 { return (take(&state), false) }
                if !state.isClosed { state.sleepers.append(sleeper) }
                return (nil, state.isClosed)
            }
            if taken != nil || isClosed { return taken }
            sleeper.wait()
        }
    }

    /// The jobs that wait at this moment, at most so many.
    func nextIfAny(atMost most: Int) -> [Job] {
        state.withLock { $0.count > 0 ? $0.removeFirst(most) : [] }
    }

    /// How many jobs wait.
    var count: Int { state.withLock { $0.count } }

    /// Fails the jobs that have waited too long.
    func expire(at now: ContinuousClock.Instant) {
        let expired = state.withLock { state in
            var expired: [Job] = []
            while state.count > 0, state.jobs[state.head].enqueued.duration(to: now) > waitLimit {
                expired.append(state.removeFirst())
            }
            return expired
        }
        for job in expired {
            job.fail(DatabaseError(.busy, "no connection became free within \(waitLimit); try again later"))
        }
    }

    /// Refuses new jobs; those that wait are still handed out.
    func close() {
        let sleepers = state.withLock { state in
            state.isClosed = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.signal() }
    }
}
