import Dispatch
import Synchronization

/// The jobs that wait for a database's threads, in the order of arrival, with limits on their number and waiting time.
///
/// Of several idle threads, the one that worked last gets the next job. Under a light load the same few threads do all
/// the work, and only these threads hold a connection to PostgreSQL.
final class JobQueue: Sendable {
    private struct State {
        var jobs: [Job] = []
        /// The index of the first waiting job. The jobs before it were taken, and are removed from time to time.
        var head = 0
        /// The semaphores of the threads that wait for a job, in the order in which they began to wait.
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

    /// Creates a queue of at most `capacity` jobs. ``expire(at:)`` fails the jobs that have waited for `waitLimit`.
    init(capacity: Int, waitLimit: Duration) {
        self.capacity = capacity
        self.waitLimit = waitLimit
    }

    /// Adds a job, or fails it at once when the queue is closed or full.
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

    /// Waits for a job and takes it. Nil when the queue is closed and empty.
    func next() -> Job? {
        wait { $0.removeFirst() }
    }

    /// Waits for a job, and takes it with those behind it, at most `most`. Nil when the queue is closed and empty.
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

    /// Takes the jobs that wait at this moment, at most `most`.
    func nextIfAny(atMost most: Int) -> [Job] {
        state.withLock { $0.count > 0 ? $0.removeFirst(most) : [] }
    }

    /// The number of waiting jobs.
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

    /// Refuses new jobs. Waiting jobs are still handed out.
    func close() {
        let sleepers = state.withLock { state in
            state.isClosed = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.signal() }
    }
}
