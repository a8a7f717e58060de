extension Connection {
    /// Tells the other processes, once the transaction is committed, that what they keep of `topic` has changed. No
    /// effect without a ``Membership``.
    /// - Parameters:
    ///   - topic: letters from a to z and points, at most 40.
    ///   - detail: what of the topic has changed, at most 200 bytes; empty for all of it.
    ///   - isAwaited: whether `Database.write` returns only when all live processes have applied it, at most a second
    ///     later.
    public func announce(_ topic: String, _ detail: String = "", isAwaited: Bool = true) throws {}
}
