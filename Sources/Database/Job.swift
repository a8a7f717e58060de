/// A transaction that waits for a thread: the caller's closure and the way back to the caller.
struct Job: Sendable {
    /// What the transaction may do.
    enum Access: Sendable {
        case read
        case write
    }

    /// Hands the result to the caller; to be called once the transaction is committed.
    typealias Completion = @Sendable () -> Void

    let access: Access
    /// When it began to wait.
    let enqueued: ContinuousClock.Instant
    /// Runs the closure. May be run again after a rollback, but only one completion may be called.
    let run: @Sendable (Connection) throws -> Completion
    /// Hands an error to the caller. Called instead of a completion.
    let fail: @Sendable (any Error) -> Void

    /// Runs the closure on a connection made for it, and makes sure that neither a failed statement nor a transaction
    /// that took too long is committed.
    func run(on connection: Connection) throws -> Completion {
        defer { connection.end() }
        let completion = try run(connection)
        try connection.checkMayCommit()
        return completion
    }
}
