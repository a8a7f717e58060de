/// A transaction that waits for a thread: the caller's closure, and the functions that answer the caller.
struct Job: Sendable {
    /// Whether the transaction may change rows.
    enum Access: Sendable {
        case read
        case write
    }

    /// Returns the result to the caller. Called after the transaction is committed.
    typealias Completion = @Sendable () -> Void

    let access: Access
    /// The time when the job was added to the queue.
    let enqueued: ContinuousClock.Instant
    /// Runs the closure. It may run again after a rollback, but only one completion may be called.
    let run: @Sendable (Connection) throws -> Completion
    /// Returns an error to the caller. Called instead of a completion.
    let fail: @Sendable (any Error) -> Void

    /// Runs the closure on a connection made for it. Throws when a statement failed, even if the closure caught the
    /// error, and when the transaction took too long.
    func run(on connection: Connection) throws -> Completion {
        defer { connection.end() }
        let completion = try run(connection)
        try connection.checkMayCommit()
        return completion
    }
}
