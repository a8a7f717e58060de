import StoreWire
import Synchronization

/// The payment sheets that wait for somebody at a web page. In memory only: with the process the questions are gone, and
/// devices ask again.
final class SheetBoard: Sendable {
    /// Sheets that can wait at once.
    static let most = 64
    /// How long one waits.
    static let lifetime = Duration.seconds(600)

    private struct Entry {
        var question: SheetQuestion
        var end: ContinuousClock.Instant
        var reply: SheetReply?
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant) { self.now = now }

    /// Puts a question up; nil when too many wait.
    func post(_ question: SheetQuestion) -> String? {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<2).map { _ in
            let digits = String(UInt64.random(in: 0...UInt64.max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let now = now()
        let (isPosted, gone) = state.withLock { state in
            let old = state.entries.filter { $0.value.end <= now }
            for key in old.keys { state.entries[key] = nil }
            let hasRoom = state.entries.count < Self.most
            if hasRoom { state.entries[id] = Entry(question: question, end: now + Self.lifetime) }
            return (hasRoom, old.values.flatMap(\.waiters.values))
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

    /// The answer, which is given once and then forgotten; waits for it for a while.
    func outcome(_ id: String, waiting time: Duration) async -> Outcome {
        if case .waiting = take(id) {
            let number = state.withLock { state in
                state.nextWaiter += 1
                return state.nextWaiter
            }
            let limit = Task {
                try? await Task.sleep(for: time)
                self.release(id, number)
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let mustWait = state.withLock { state in
                        guard var entry = state.entries[id], entry.reply == nil, !Task.isCancelled,
                            entry.waiters.count < 4
                        else { return false }
                        entry.waiters[number] = continuation
                        state.entries[id] = entry
                        return true
                    }
                    if !mustWait { continuation.resume() }
                }
            } onCancel: {
                self.release(id, number)
            }
            limit.cancel()
        } else {
            return take(id, forgets: true)
        }
        return take(id, forgets: true)
    }

    private func release(_ id: String, _ number: Int) {
        state.withLock { $0.entries[id]?.waiters.removeValue(forKey: number) }?.resume()
    }

    private func take(_ id: String, forgets: Bool = false) -> Outcome {
        let now = now()
        return state.withLock { state in
            guard let entry = state.entries[id], entry.end > now else { return .gone }
            guard let reply = entry.reply else { return .waiting }
            if forgets { state.entries[id] = nil }
            return .answered(reply)
        }
    }
}
