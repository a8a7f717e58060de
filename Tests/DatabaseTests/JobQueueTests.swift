import Synchronization
import Testing

@testable import Database

@Suite(.timeLimit(.minutes(1))) struct JobQueueTests {
    private final class Log: Sendable {
        let errors = Mutex<[DatabaseError.Code?]>([])

        func job(at enqueued: ContinuousClock.Instant) -> Job {
            Job(
                access: .read, enqueued: enqueued, run: { _ in {} },
                fail: { error in self.errors.withLock { $0.append((error as? DatabaseError)?.code) } }
            )
        }

        var all: [DatabaseError.Code?] { errors.withLock { $0 } }
    }

    @Test func onlyJobsThatWaitedTooLongExpire() {
        let (queue, log) = (JobQueue(capacity: 10, waitLimit: .seconds(5)), Log())
        let start = ContinuousClock.now
        for second in 0..<4 { queue.add(log.job(at: start + .seconds(second))) }
        queue.expire(at: start + .seconds(5))
        #expect(log.all == [])
        queue.expire(at: start + .milliseconds(6_500))
        #expect(log.all == [.busy, .busy])
        #expect(queue.count == 2)
        #expect(queue.next()?.enqueued == start + .seconds(2))
        #expect(queue.nextIfAny(atMost: 2).map(\.enqueued) == [start + .seconds(3)])
        #expect(queue.nextIfAny(atMost: 2).isEmpty)
    }

    @Test func aFullQueueRefuses() {
        let (queue, log) = (JobQueue(capacity: 2, waitLimit: .seconds(5)), Log())
        for _ in 0..<3 { queue.add(log.job(at: .now)) }
        #expect(log.all == [.busy])
        _ = queue.next()
        queue.add(log.job(at: .now))
        #expect(log.all == [.busy])
    }

    @Test func aClosedQueueHandsOutTheRest() {
        let (queue, log) = (JobQueue(capacity: 5, waitLimit: .seconds(5)), Log())
        queue.add(log.job(at: .now))
        queue.close()
        queue.add(log.job(at: .now))
        #expect(log.all == [.closed])
        #expect(queue.next() != nil)
        #expect(queue.next() == nil)
    }

    @Test func theOrderIsKeptOverManyJobs() {
        let (queue, log) = (JobQueue(capacity: 10_000, waitLimit: .seconds(5)), Log())
        let start = ContinuousClock.now
        var (added, taken) = (0, 0)
        for round in 0..<2_000 {
            for _ in 0..<(round % 5) {
                queue.add(log.job(at: start + .microseconds(added)))
                added += 1
            }
            for job in queue.nextIfAny(atMost: round % 3) {
                #expect(job.enqueued == start + .microseconds(taken))
                taken += 1
            }
        }
        #expect(queue.count == added - taken)
    }
}

extension Job: Equatable {
    /// Compares the times at which the jobs were queued.
    public static func == (left: Job, right: Job) -> Bool { left.enqueued == right.enqueued }
}
