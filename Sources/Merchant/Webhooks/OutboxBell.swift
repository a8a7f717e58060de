import Synchronization

/// Rings when this process has put something into the outbox. What other processes put there is found by looking.
public final class OutboxBell: Sendable {
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    init() {}

    /// Calls `listener` each time from now on, in place of an earlier one. It must not wait.
    public func answer(with listener: @escaping @Sendable () -> Void) { self.listener.withLock { $0 = listener } }

    func ring() { listener.withLock { $0 }?() }
}
