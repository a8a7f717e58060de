import Synchronization

/// Hands a response over from the thread of curl, which fills it, to a task, which takes it.
final class ResponseStream: Sendable {
    /// The number of bytes that are kept for the task. When more arrive, the server has to wait.
    static let capacity = 256 << 10

    private enum End {
        case complete
        case failed(HTTPClientError)
    }

    private struct State {
        var head: HTTPHead?
        var bytes: [UInt8] = []
        /// Whether the transfer stands still until bytes are taken.
        var isPaused = false
        /// Nil while the transfer is under way.
        var end: End?
        /// Counts the changes by the filling side.
        var changes = 0
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Counts a change. The caller resumes the returned waiters without the lock.
        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            changes += 1
            defer { waiters = [] }
            return waiters
        }
    }

    private let state = Mutex(State())
    private let loop: TransferLoop

    init(_ loop: TransferLoop) { self.loop = loop }

    // MARK: - The filling side

    /// Whether nobody needs the response any more.
    var isOver: Bool { state.withLock { $0.end != nil } }

    func receive(_ head: HTTPHead) { change { $0.head = head } }

    /// The result of taking bytes that arrived.
    enum Receipt {
        case kept
        /// The bytes were not kept: the transfer has to pause until the task has taken others.
        case full
        /// The bytes were not kept, and no more are needed.
        case over
    }

    /// Keeps bytes of the body for the task.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Receipt {
        let (receipt, waiters) = state.withLock { state -> (Receipt, [CheckedContinuation<Void, Never>]) in
            guard state.end == nil else { return (.over, []) }
            guard state.bytes.isEmpty || state.bytes.count + bytes.count <= Self.capacity else {
                state.isPaused = true
                return (.full, [])
            }
            state.bytes.append(contentsOf: bytes)
            return (.kept, state.takeWaiters())
        }
        for waiter in waiters { waiter.resume() }
        return receipt
    }

    func complete() { end(.complete) }
    func fail(_ error: HTTPClientError) { end(.failed(error)) }

    private func end(_ end: End) { change { $0.end = $0.end ?? end } }

    private func change(_ body: (inout State) -> Void) {
        let waiters = state.withLock { state in
            body(&state)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: - The taking side

    /// Whether the transfer stands still until bytes are taken.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Waits for the head of the response.
    func head() async throws(HTTPClientError) -> HTTPHead {
        try await take { state in
            if let head = state.head { return .success(head) }
            switch state.end {
            case nil: return nil
            case .complete: return .failure(.connectionLost)
            case .failed(let error): return .failure(error)
            }
        }
    }

    /// Waits for the next bytes; nil at the end.
    func next() async throws(HTTPClientError) -> [UInt8]? {
        let (bytes, isToResume) = try await take { state -> Result<([UInt8]?, Bool), HTTPClientError>? in
            if !state.bytes.isEmpty {
                defer { (state.bytes, state.isPaused) = ([], false) }
                return .success((state.bytes, state.isPaused))
            }
            switch state.end {
            case nil: return nil
            case .complete: return .success((nil, false))
            case .failed(let error): return .failure(error)
            }
        }
        if isToResume { loop.add(.resume(self)) }
        return bytes
    }

    /// Ends the transfer if it is under way. A task that waits gets `cancelled`.
    func cancel() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
            guard state.end == nil else { return nil }
            (state.end, state.bytes) = (.failed(.cancelled), [])
            return state.takeWaiters()
        }
        guard let waiters else { return }
        for waiter in waiters { waiter.resume() }
        loop.add(.cancel(self))
    }

    /// Calls `body` after each change until it returns a result.
    private func take<Value: Sendable>(
        _ body: (inout State) -> Result<Value, HTTPClientError>?
    ) async throws(HTTPClientError) -> Value {
        let result = await withTaskCancellationHandler {
            while true {
                let (result, changes) = state.withLock { state in (body(&state), state.changes) }
                if let result { return result }
                await withCheckedContinuation { continuation in
                    let hasChanged = state.withLock { state in
                        if state.changes == changes { state.waiters.append(continuation) }
                        return state.changes != changes
                    }
                    if hasChanged { continuation.resume() }
                }
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }
}
