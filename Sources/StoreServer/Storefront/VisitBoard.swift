import CornerstoreEncoding
import Crypto
import Store
import StoreWire
import Synchronization

/// A page that a device opened for its customer.
struct Visit: Sendable {
    var environment: StoreEnvironment
    var accountID: AccountID
    /// The token of the device. The visit ends with it, when the device signs out or the account is locked.
    var token: String
    var item: Int64
    /// The in-app purchase to show first.
    var promoted: ProductID?
    var state = VisitState.open
}

/// The pages that devices opened. They are kept in memory only: when the server stops, apps open their pages again.
///
/// A visit's identifier is 128 random bits, and its address is the right to buy one item with one account.
final class VisitBoard: Sendable {
    /// The most visits at once, and of one account.
    static let (most, mostOfAccount) = (4_096, 16)
    /// How long a page can be used.
    static let lifetime = Duration.seconds(1_800)
    /// The most requests that may wait for the end of one visit.
    private static let mostWaiters = 4

    private struct Entry {
        var visit: Visit
        var number: Int
        var end: ContinuousClock.Instant
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
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

    /// Opens a visit and returns its identifier. The account's oldest visit gives way when it has too many, or else the
    /// oldest of all.
    func open(_ visit: Visit) -> String {
        let id = Hexadecimal.encoded(SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) })
        let now = now()
        let gone = state.withLock { state in
            var gone = state.entries.filter { $0.value.end <= now }
            let rest = state.entries.filter { gone[$0.key] == nil }
            let own = rest.filter {
                $0.value.visit.accountID == visit.accountID && $0.value.visit.environment == visit.environment
            }
            let crowd = own.count >= Self.mostOfAccount ? own : rest.count >= Self.most ? rest : [:]
            if let oldest = crowd.min(by: { $0.value.number < $1.value.number }) { gone[oldest.key] = oldest.value }
            for key in gone.keys { state.entries[key] = nil }
            state.entries[id] = Entry(visit: visit, number: state.number(), end: now + Self.lifetime)
            return gone.values.flatMap(\.waiters.values)
        }
        for waiter in gone { waiter.resume() }
        return id
    }

    /// The visit with an identifier; nil when it is unknown or has expired.
    func visit(_ id: String) -> Visit? {
        let now = now()
        return state.withLock { state in state.entries[id].flatMap { $0.end > now ? $0.visit : nil } }
    }

    /// Tells the device how a visit went. A bought item stays bought when the page is closed.
    func end(_ id: String, _ outcome: VisitState) {
        let waiters = state.withLock { state in
            guard var entry = state.entries[id] else { return [CheckedContinuation<Void, Never>]() }
            if entry.visit.state == .open { entry.visit.state = outcome }
            let waiters = Array(entry.waiters.values)
            entry.waiters = [:]
            state.entries[id] = entry
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// The state of a visit, after waiting up to `time` for its end; nil when it is unknown or has expired.
    func state(_ id: String, waiting time: Duration) async -> VisitState? {
        guard time > .zero, visit(id)?.state == .open else { return visit(id)?.state }
        let number = state.withLock { $0.number() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.ended(id, number) }
            group.addTask { try? await Task.sleep(for: time) }
            // The first task to end cancels the other.
            await group.next()
            group.cancelAll()
        }
        return visit(id)?.state
    }

    /// Waits until the visit ends or is dropped, or the task is cancelled.
    private func ended(_ id: String, _ number: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let released: CheckedContinuation<Void, Never>? = state.withLock { state in
                    guard var entry = state.entries[id], entry.visit.state == .open, !Task.isCancelled else {
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
}
