import Foundation

/// Jobs that wait for the threads of a database: first come, first served, bounded in number and in time.
///
/// `@unchecked Sendable`: every stored variable is read and written under `condition`'s lock.
final class JobQueue: @unchecked Sendable {
    private let condition = NSCondition()
    private var waiting: [Job] = []
    /// The first job that still waits; what lies before it is removed now and then.
    private var head = 0
    private var isClosed = false
    private let capacity: Int
    private let waitLimit: Duration

    /// Makes a queue that holds at most `capacity` jobs, none of them longer than `waitLimit`.
    init(capacity: Int, waitLimit: Duration) {
        self.capacity = capacity
        self.waitLimit = waitLimit
    }

    /// Queues a job, or fails it at once when the queue is closed or full.
    func add(_ job: Job) {
        if let refusal = append(job) { job.fail(refusal) }
    }

    private func append(_ job: Job) -> DatabaseError? {
        condition.lock()
        defer { condition.unlock() }
        if isClosed { return DatabaseError(.closed, "the database is closed") }
        guard waiting.count - head < capacity else {
            return DatabaseError(.busy, "\(capacity) transactions are waiting already; try again later")
        }
        waiting.append(job)
        condition.signal()
        return nil
    }

    /// The next job; waits for one. Nil when the queue is closed and empty.
    func next() -> Job? {
        condition.lock()
        defer { condition.unlock() }
        while head == waiting.count {
            if isClosed { return nil }
            condition.wait()
        }
        return removeFirst()
    }

    /// The next job if one waits.
    func nextIfAny() -> Job? {
        condition.lock()
        defer { condition.unlock() }
        return head < waiting.count ? removeFirst() : nil
    }

    private func removeFirst() -> Job {
        let job = waiting[head]
        head += 1
        if head == waiting.count || head > 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        return job
    }

    /// How many jobs wait.
    var count: Int {
        condition.lock()
        defer { condition.unlock() }
        return waiting.count - head
    }

    /// Fails the jobs that have waited too long.
    func expire(at now: ContinuousClock.Instant) {
        condition.lock()
        var expired: [Job] = []
        while head < waiting.count, waiting[head].enqueued.duration(to: now) > waitLimit {
            expired.append(removeFirst())
        }
        condition.unlock()
        for job in expired {
            job.fail(DatabaseError(.busy, "no connection became free within \(waitLimit); try again later"))
        }
    }

    /// Refuses new jobs; those that wait are still handed out.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
