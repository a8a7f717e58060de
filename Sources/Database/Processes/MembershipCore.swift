import Dispatch
import Foundation
import Synchronization

/// The state that a ``Membership`` and its thread share.
final class MembershipCore: Sendable {
    typealias Apply = @Sendable ([Announcement]?) async throws -> Void
    typealias Sharing = @Sendable (Result<Void, any Error>) -> Void

    /// The longest word of a hint and the greatest number of words in one notification.
    private static let longestHint = 80
    private static let mostHints = 80

    private struct State {
        var facts: ProcessFacts
        var others: [ProcessFacts] = []
        var known: [KnownProcess] = []
        var clockOffset: Int64 = 0
        /// A reason why transactions fail though PostgreSQL answers.
        var problem: DatabaseError?
        var lost: DatabaseError?
        var apply: Apply?
        /// Whether the last piece of work succeeded; nil while none has ended.
        var outcome: Bool?
        var waiters: [UInt64: Waiter] = [:]
        var lastNumber: UInt64 = 0
        var hints: [String] = []
        var streams: [UInt64: AsyncStream<[String]>.Continuation] = [:]
        var sharing: [Sharing] = []
        var isStopped = false
        var hasEnded = false

        mutating func number() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    /// A transaction whose caller waits until others have applied it.
    private struct Waiter: Sendable {
        var version: Int64
        var completion: Job.Completion
    }

    let timing: Membership.Timing
    let waker: Waker
    let losses: AsyncStream<DatabaseError>
    private let lost: AsyncStream<DatabaseError>.Continuation
    private let state: Mutex<State>
    private let commits = Mutex(ConfirmedCommits())
    /// The beginning of the times below, which count nanoseconds; the least number stands for none.
    private let origin: ContinuousClock.Instant
    /// The time of the last beat that PostgreSQL has answered.
    private let answered = Atomic<Int64>(.min)
    /// When the server that holds the locks was started.
    private let server = Atomic<Int64>(0)
    /// The time of the last beat all of whose changes are applied.
    private let confirmed = Atomic<Int64>(.min)
    /// The same of the last beat since which all writers wait for this process.
    private let fresh = Atomic<Int64>(.min)

    init(_ facts: ProcessFacts, _ timing: Membership.Timing) throws(DatabaseError) {
        (losses, lost) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.timing = timing
        waker = try Waker()
        origin = timing.now()
        state = Mutex(State(facts: facts))
    }

    /// The machine's clock, in milliseconds since 1970.
    @Sendable static func machineTime() -> Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }

    // MARK: Times

    var isHeld: Bool { isYounger(answered.load(ordering: .acquiring), than: timing.held) }
    var isFresh: Bool { isYounger(fresh.load(ordering: .acquiring), than: timing.lease) }
    var isCurrent: Bool { isYounger(confirmed.load(ordering: .acquiring), than: timing.current) }

    private func isYounger(_ time: Int64, than limit: Duration) -> Bool {
        guard time != .min else { return false }
        return timing.now() - origin - .nanoseconds(time) < limit
    }

    private func count(_ instant: ContinuousClock.Instant) -> Int64 {
        let (seconds, attoseconds) = (instant - origin).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Records that PostgreSQL has answered a beat. Has no effect after a loss.
    func setAnswered(_ asked: ContinuousClock.Instant) {
        let time = count(asked)
        // Under the lock, so that no beat under way follows a loss.
        state.withLock { state in
            guard state.lost == nil else { return }
            answered.store(time, ordering: .releasing)
        }
    }

    /// Records that all changes before a beat are applied. Has no effect after a loss.
    func confirm(_ confirmation: HeardChanges.Confirmation) {
        let time = count(confirmation.asked)
        state.withLock { state in
            guard state.lost == nil else { return }
            confirmed.store(time, ordering: .releasing)
            if confirmation.isCertain { fresh.store(time, ordering: .releasing) }
        }
    }

    /// Records that the locks are not certain, and that the process does not hear.
    func forgetTimes() {
        answered.store(.min, ordering: .releasing)
        confirmed.store(.min, ordering: .releasing)
        fresh.store(.min, ordering: .releasing)
    }

    /// When the server that holds the locks was started. It changes only while ``isHeld`` is false.
    var serverStart: Int64 { server.load(ordering: .acquiring) }

    func setServerStart(_ start: Int64) { server.store(start, ordering: .releasing) }

    func check() throws(DatabaseError) {
        guard !isHeld else { return }
        let reason = state.withLock { $0.lost ?? $0.problem }
        throw DatabaseError(
            .unavailable,
            reason?.detail ?? "PostgreSQL has not confirmed this process's place among the others; try again later")
    }

    /// Keeps the reason why transactions fail though PostgreSQL answers; nil for none.
    func setProblem(_ problem: DatabaseError?) { state.withLock { $0.problem = problem } }

    func setClockOffset(_ offset: Int64) { state.withLock { $0.clockOffset = offset } }

    var membershipState: MembershipState {
        let (problem, lost, offset) = state.withLock { ($0.problem, $0.lost, $0.clockOffset) }
        let time = confirmed.load(ordering: .acquiring)
        let age = timing.now() - origin - .nanoseconds(time == .min ? 0 : time)
        let isHeld = isHeld
        let name: String? =
            switch (lost ?? problem)?.code {
            case .clockDiffers: "clock_differs"
            case .isStandby: "standby"
            case nil where isHeld: age > .seconds(2) ? "cannot_hear" : nil
            default: "no_node"
            }
        return MembershipState(heardAge: age, clockOffset: offset, isHeld: isHeld, problem: name)
    }

    // MARK: The end

    /// Whether the thread must end.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends the thread, which releases the locks.
    func stop() {
        state.withLock { $0.isStopped = true }
        waker.wake()
    }

    func lose(_ error: DatabaseError) {
        state.withLock { state in
            if state.lost == nil { state.lost = error }
            state.isStopped = true
            forgetTimes()
        }
        lost.yield(error)
        waker.wake()
    }

    /// Records that the thread has ended. Writers that wait are answered by their timers.
    func end() {
        forgetTimes()
        lost.finish()
        let (sharing, streams) = state.withLock { state in
            state.hasEnded = true
            defer { (state.sharing, state.streams) = ([], [:]) }
            return (state.sharing, Array(state.streams.values))
        }
        for answer in sharing { answer(.failure(Self.broken)) }
        for stream in streams { stream.finish() }
    }

    private static var broken: DatabaseError {
        DatabaseError(.unavailable, "the connection to PostgreSQL has broken; start again")
    }

    // MARK: Sharing the schemas

    /// Asks the thread to let others use the schemas.
    func share(_ answer: @escaping Sharing) {
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.sharing.append(answer) }
            return state.hasEnded
        }
        if hasEnded { return answer(.failure(Self.broken)) }
        waker.wake()
    }

    func takeSharing() -> [Sharing] {
        state.withLock { state in
            defer { state.sharing = [] }
            return state.sharing
        }
    }

    // MARK: Changes

    func hear(_ apply: @escaping Apply) {
        state.withLock { $0.apply = apply }
        waker.wake()
    }

    var apply: Apply? { state.withLock { $0.apply } }

    /// Ends a piece of work.
    func finish(isDone: Bool) {
        state.withLock { $0.outcome = isDone }
        waker.wake()
    }

    /// Whether the last piece of work succeeded; nil when none has ended since the last call.
    func takeOutcome() -> Bool? {
        state.withLock { state in
            defer { state.outcome = nil }
            return state.outcome
        }
    }

    /// The newest commits that PostgreSQL has confirmed to this process.
    var confirmedCommits: ConfirmedCommits { commits.withLock { $0 } }

    func keep(_ witness: CommitWitness?, _ version: Int64?, in address: PostgreSQLAddress) {
        commits.withLock { $0.add(witness, version, in: address) }
    }

    // MARK: Writers that wait

    func wait(for version: Int64, _ completion: @escaping Job.Completion) {
        let number = state.withLock { state in
            let number = state.number()
            state.waiters[number] = Waiter(version: version, completion: completion)
            return number
        }
        waker.wake()
        // Afterwards no process can use what it kept before the commit.
        let patience = (timing.lease + timing.slack) / .milliseconds(1)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(patience))) { [self] in
            state.withLock { $0.waiters.removeValue(forKey: number) }?.completion()
        }
    }

    /// Whether writers wait for other processes.
    var hasWaiters: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Answers the writers up to a version.
    func answerWaiters(upTo version: Int64) {
        let answered = state.withLock { state in
            let ready = state.waiters.filter { $0.value.version <= version }
            for number in ready.keys { state.waiters.removeValue(forKey: number) }
            return Array(ready.values)
        }
        for waiter in answered { waiter.completion() }
    }

    /// The newest version for which a writer waits.
    var newestAwaited: Int64? { state.withLock { $0.waiters.values.map(\.version).max() } }

    // MARK: Hints

    func hint(_ words: [String]) {
        let fine = words.filter { word in
            (1...Self.longestHint).contains(word.utf8.count) && word.utf8.allSatisfy { $0 > 0x20 }
        }
        state.withLock { state in
            for word in fine where !state.hints.contains(word) && state.hints.count < 1_000 { state.hints.append(word) }
        }
    }

    /// Some words to tell the others.
    func takeHints() -> [String] {
        state.withLock { state in
            let taken = Array(state.hints.prefix(Self.mostHints))
            state.hints.removeFirst(taken.count)
            return taken
        }
    }

    func hints() -> AsyncStream<[String]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [String].self, bufferingPolicy: .bufferingNewest(256))
        let number: UInt64? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            let number = state.number()
            state.streams[number] = continuation
            return number
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            _ = state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    func receive(hints words: [String]) {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.yield(words) }
    }

    // MARK: Processes

    var facts: ProcessFacts { state.withLock { $0.facts } }

    /// Keeps the node number when the facts change.
    func tell(_ facts: ProcessFacts) {
        state.withLock { state in
            let node = state.facts.node
            state.facts = facts
            state.facts.node = node
        }
    }

    func setNode(_ node: Int) { state.withLock { $0.facts.node = node } }

    var others: [ProcessFacts] { state.withLock { $0.others } }

    func setOthers(_ others: [ProcessFacts]) { state.withLock { $0.others = others } }

    var known: [KnownProcess] { state.withLock { $0.known } }

    func setKnown(_ known: [KnownProcess]) { state.withLock { $0.known = known } }
}
