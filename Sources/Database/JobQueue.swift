import Dispatch
import Synchronization

/// Jobs that wait for the threads of a database: first come, first served, bounded in number and in time.
final class JobQueue: Sendable {
    private struct State {
        var jobs: [Job] = []
        /// The first job that still waits; what lies before it is removed now and then.
        var head = 0
        /// Threads that wait for a job and have not been woken.
        var sleepers = 0
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
    /// Signalled once for each sleeper that is to look again.
    private let wakeups = DispatchSemaphore(value: 0)
    private let capacity: Int
    private let waitLimit: Duration

    /// Makes a queue that holds at most `capacity` jobs, none of them longer than `waitLimit`.
    init(capacity: Int, waitLimit: Duration) {
        self.capacity = capacity
        self.waitLimit = waitLimit
    }

    /// Queues a job, or fails it at once when the queue is closed or full.
    func add(_ job: Job) {
        let (refusal, wakes) = state.withLock { append(job, to: &$0) }
        if wakes { wakeups.signal() }
        if let refusal { job.fail(refusal) }
    }

    private func append(_ job: Job, to state: inout State) -> (refusal: DatabaseError?, wakes: Bool) {
        if state.isClosed { return (DatabaseError(.closed, "the database is closed"), false) }
        guard state.count < capacity else {
            return (DatabaseError(.busy, "\(capacity) transactions are waiting already; try again later"), false)
        }
        state.jobs.append(job)
        guard state.sleepers > 0 else { return (nil, false) }
        state.sleepers -= 1
        return (nil, true)
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
        while true {
            let (taken, isClosed) = state.withLock { state -> (T?, Bool) in
                if state.count > 0 { return (take(&state), false) }
                if !state.isClosed { state.sleepers += 1 }
                return (nil, state.isClosed)
            }
            if taken != nil || isClosed { return taken }
            wakeups.wait()
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
            defer { state.sleepers = 0 }
            return state.sleepers
        }
        for _ in 0..<sleepers { wakeups.signal() }
    }
}
