import StoreWire
import Synchronization

/// The payment sheets that wait for somebody at a web page. In memory only: with the process the questions are gone, and
/// devices ask again.
final class SheetBoard: Sendable {
    /// Sheets that can wait at once.
    static let most = 64
    /// How long one waits.
    static let lifetime = Duration.seconds(600)
    /// How long an answer that was given can be asked for again, by a device that it did not reach.
    static let answerLifetime = Duration.seconds(60)
    /// Requests that may wait for one answer; the longest waiting gives way to another.
    private static let mostWaiters = 4

    private struct Entry {
        var question: SheetQuestion
        /// In which order they came.
        var number: Int
        var end: ContinuousClock.Instant
        var reply: SheetReply?
        var wasGiven = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]

        /// Whether nobody would miss it much: what was answered and told, and what is only to be read.
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

    /// Puts a question up; nil when too many wait. The oldest notice or answered sheet gives way.
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

    /// The question, while nobody has answered.
    func question(_ id: String) -> SheetQuestion? {
        let now = now()
        return state.withLock { state in
            state.entries[id].flatMap { $0.end > now && $0.reply == nil ? $0.question : nil }
        }
    }

    /// Takes the first answer; false for another, or when the question is gone.
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

    /// What the device learns.
    enum Outcome: Sendable {
        case answered(SheetReply)
        case waiting
        case gone
    }

    /// The answer; waits for it for a while, and with no time at all does not wait. It can be asked for again for ``answerLifetime``.
    func outcome(_ id: String, waiting time: Duration) async -> Outcome {
        guard time > .zero, case .waiting = give(id) else { return give(id) }
        let number = state.withLock { $0.number() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.answered(id, number) }
            group.addTask { try? await Task.sleep(for: time) }
            // Whichever is first ends the other.
            await group.next()
            group.cancelAll()
        }
        return give(id)
    }

    /// Waits until there is an answer, the question is gone, or the task is cancelled.
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
