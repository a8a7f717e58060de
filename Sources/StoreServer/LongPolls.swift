import ServiceLifecycle
import Synchronization

/// Lets requests wait for an event that a key names (long polling).
final class LongPolls: Sendable {
    /// The most requests that may wait for one key. A further request releases the one that has waited longest.
    private let mostForKey: Int

    private struct State {
        var waiters: [String: [Int: CheckedContinuation<Void, Never>]] = [:]
        var nextNumber = 0
    }

    private let state = Mutex(State())

    init(mostForKey: Int = 4) { self.mostForKey = mostForKey }

    /// Waits until ``release(_:)`` names the key, `time` has passed, the task is cancelled, or the server shuts down.
    /// - Parameter isPending: whether there is still something to wait for. It runs under this object's lock, so the
    ///   caller must not hold a lock that it takes while it calls this object.
    func wait(for key: String, upTo time: Duration, while isPending: @escaping @Sendable () -> Bool) async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.released(key, isPending) }
                group.addTask { try? await Task.sleep(for: time) }
                // The first task to end cancels the other.
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Ends all waiting for these keys. Call it after the change that `isPending` looks at.
    func release(_ keys: some Sequence<String>) {
        let waiters = state.withLock { state in
            keys.flatMap { state.waiters.removeValue(forKey: $0)?.values.map(\.self) ?? [] }
        }
        for waiter in waiters { waiter.resume() }
    }

    private func released(_ key: String, _ isPending: @Sendable () -> Bool) async {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let released: CheckedContinuation<Void, Never>? = state.withLock { state in
                    guard isPending(), !Task.isCancelled else { return continuation }
                    var waiters = state.waiters[key] ?? [:]
                    var longest: CheckedContinuation<Void, Never>?
                    if waiters.count >= mostForKey, let first = waiters.keys.min() {
                        longest = waiters.removeValue(forKey: first)
                    }
                    waiters[number] = continuation
                    state.waiters[key] = waiters
                    return longest
                }
                released?.resume()
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters[key]?.removeValue(forKey: number)
                if state.waiters[key]?.isEmpty == true { state.waiters[key] = nil }
                return waiter
            }
            waiter?.resume()
        }
    }
}
