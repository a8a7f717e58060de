import Synchronization

/// Signals that this process has written events into the outbox. Events of other processes are found by polling.
public final class OutboxSignal: Sendable {
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    init() {}

    /// Calls `listener` for each signal, in place of an earlier listener. The listener must return quickly.
    public func listen(_ listener: @escaping @Sendable () -> Void) { self.listener.withLock { $0 = listener } }

    func send() { listener.withLock { $0 }?() }
}
