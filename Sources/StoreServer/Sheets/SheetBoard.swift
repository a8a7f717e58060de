import StoreWire
import Synchronization

/// The payment sheets that wait for an answer on a web page. They are kept in memory only: when the process ends the
/// questions are lost, and devices ask again.
final class SheetBoard: Sendable {
    /// The largest number of sheets that can wait at once.
    static let most = 64
    /// How long a sheet waits for its answer.
    static let lifetime = Duration.seconds(600)
    /// How long a device can fetch an answer again after the first time, in case the response was lost.
    static let answerLifetime = Duration.seconds(60)
    /// The largest number of requests that may wait for one answer. A further request releases the one that has waited
    /// longest.
    private static let mostWaiters = 4

    private struct Entry {
        var question: SheetQuestion
        /// The sheet's place in the order of arrival.
        var number: Int
        var end: ContinuousClock.Instant
        var reply: SheetReply?
        var wasGiven = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]

        /// Whether the sheet can be dropped for a new one: its answer was delivered, or it is only a notice.
        var canGiveWay: Bool { wasGiven || question.kind == .notice }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var nextNumber = 0

        mutating func number() -> Int {
            nextNumber += 1
            return nextNumber
        }
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

    /// Posts a question and returns its id. Drops the oldest notice or delivered answer when the board is full; returns
    /// nil when none can be dropped.
    func post(_ question: SheetQuestion) -> String? {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<2).map { _ in
            let digits = String(UInt64.random(in: 0...UInt64.max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let now = now()
        let (isPosted, gone) = state.withLock { state in
            var gone = state.entries.filter { $0.value.end <= now }
            if state.entries.count - gone.count >= Self.most,
                let oldest = state.entries.filter({ $0.value.canGiveWay && gone[$0.key] == nil })
                    .min(by: { $0.value.number < $1.value.number })
            {
                gone[oldest.key] = oldest.value
            }
            for key in gone.keys { state.entries[key] = nil }
            let hasRoom = state.entries.count < Self.most
            if hasRoom {
                state.entries[id] = Entry(question: question, number: state.number(), end: now + Self.lifetime)
            }
            return (hasRoom, gone.values.flatMap(\.waiters.values))
        }
        for waiter in gone { waiter.resume() }
        return isPosted ? id : nil
    }

    /// The question, while it has no answer and has not expired.
    func question(_ id: String) -> SheetQuestion? {
        let now = now()
        return state.withLock { state in
            state.entries[id].flatMap { $0.end > now && $0.reply == nil ? $0.question : nil }
        }
    }

    /// Stores the first answer. Returns false when the question has an answer already or has expired.
    func answer(_ id: String, _ reply: SheetReply) -> Bool {
        let now = now()
        let waiters: [CheckedContinuation<Void, Never>]? = state.withLock { state in
            guard var entry = state.entries[id], entry.end > now, entry.reply == nil else { return nil }
            let waiters = Array(entry.waiters.values)
            entry.reply = reply
            entry.waiters = [:]
            state.entries[id] = entry
            return waiters
        }
        guard let waiters else { return false }
        for waiter in waiters { waiter.resume() }
        return true
    }

    /// The result of asking for an answer.
    enum Outcome: Sendable {
        case answered(SheetReply)
        case waiting
        case gone
    }

    /// The answer, after waiting up to `time` for it. A zero time does not wait. The answer can be fetched again for
    /// ``answerLifetime``.
    func outcome(_ id: String, waiting time: Duration) async -> Outcome {
        guard time > .zero, case .waiting = give(id) else { return give(id) }
        let number = state.withLock { $0.number() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.answered(id, number) }
            group.addTask { try? await Task.sleep(for: time) }
            // The first task to end cancels the other.
            await group.next()
            group.cancelAll()
        }
        return give(id)
    }

    /// Waits until the question is answered or dropped, or the task is cancelled.
    private func answered(_ id: String, _ number: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let released: CheckedContinuation<Void, Never>? = state.withLock { state in
                    guard var entry = state.entries[id], entry.reply == nil, !Task.isCancelled else {
                        return continuation
                    }
                    var longest: CheckedContinuation<Void, Never>?
                    if entry.waiters.count >= Self.mostWaiters, let first = entry.waiters.keys.min() {
                        longest = entry.waiters.removeValue(forKey: first)
                    }
                    entry.waiters[number] = continuation
                    state.entries[id] = entry
                    return longest
                }
                released?.resume()
            }
        } onCancel: {
            state.withLock { $0.entries[id]?.waiters.removeValue(forKey: number) }?.resume()
        }
    }

    private func give(_ id: String) -> Outcome {
        let now = now()
        return state.withLock { state in
            guard let entry = state.entries[id], entry.end > now else { return .gone }
            guard let reply = entry.reply else { return .waiting }
            if !entry.wasGiven {
                state.entries[id]?.wasGiven = true
                state.entries[id]?.end = min(entry.end, now + Self.answerLifetime)
            }
            return .answered(reply)
        }
    }
}
