import Synchronization

/// Rings when this process has put something into the outbox. What other processes put there is found by looking.
public final class OutboxSignal: Sendable {
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    init() {}

    /// Calls `listener` each time from now on, in place of an earlier one. It must not wait.
    public func listen(_ listener: @escaping @Sendable () -> Void) { self.listener.withLock { $0 = listener } }

    func send() { listener.withLock { $0 }?() }
}
