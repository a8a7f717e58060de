import Synchronization

/// Where the apps of a run say which points they pass, and the store's killer listens.
final class Points: Sendable {
    private struct State {
        var listeners: [(names: Set<String>, continuation: CheckedContinuation<Bool, Never>)] = []
        var isOver = false
    }

    private let state = Mutex(State())

    func passed(_ name: String) { resume(true) { $0.contains(name) } }

    /// No app will pass anything any more.
    func end() {
        state.withLock { $0.isOver = true }
        resume(false) { _ in true }
    }

    /// Returns true when an app passes one of these for the next time, false when none will.
    func next(_ names: Set<String>) async -> Bool {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.listeners.append((names, continuation)) }
                return state.isOver
            }
            if isOver { continuation.resume(returning: false) }
        }
    }

    private func resume(_ value: Bool, _ isHeard: (Set<String>) -> Bool) {
        let heard = state.withLock { state in
            let heard = state.listeners.filter { isHeard($0.names) }
            state.listeners.removeAll { isHeard($0.names) }
            return heard
        }
        for listener in heard { listener.continuation.resume(returning: value) }
    }
}
