extension Connection {
    /// Stands in for the announcement of a change to other processes, of which there are none yet.
    ///
    /// - Parameters:
    ///   - topic: what has changed.
    ///   - detail: which part of it has changed; empty for all of it.
    ///   - isAwaited: whether the write returns only when the other processes have applied the change.
    public func announce(_ topic: String, _ detail: String = "", isAwaited: Bool = true) throws {}
}
