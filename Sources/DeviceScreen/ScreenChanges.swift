import Synchronization

/// Counts the changes of a screen, and wakes those who wait for the next.
final class ScreenChanges: Sendable {
    private struct State {
        var count = 0
        var nextID = 0
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Mutex(State())

    /// The number of changes until now.
    var count: Int { state.withLock { $0.count } }

    /// Records a change.
    func record() {
        let waiting = state.withLock { state in
            state.count += 1
            return state.waiting.values
        }
        for continuation in waiting { continuation.yield() }
    }

    /// Waits until the number of changes differs from `count`, or the time is over, or the task is cancelled.
    func wait(since count: Int, upTo time: Duration) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.nextID += 1
            state.waiting[state.nextID] = continuation
            // A change since then is not missed.
            if state.count != count { continuation.yield() }
            return state.nextID
        }
        defer { _ = state.withLock { $0.waiting.removeValue(forKey: id) } }
        let timer = Task {
            try? await Task.sleep(for: time)
            continuation.finish()
        }
        defer { timer.cancel() }
        for await _ in stream { return }
    }
}
