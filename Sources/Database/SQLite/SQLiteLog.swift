import Logging

/// The write-ahead log, which the writer keeps in bounds between its batches.
struct SQLiteLog {
    /// Milliseconds that the writer waits for readers when the log could begin anew, and when it must.
    private static let patience: (short: Int32, long: Int32) = (5, 1_000)

    private let session: SQLiteConnection
    private let checkpointer: SQLiteCheckpointer
    private let logger: Logger
    private var plan: SQLiteLogPlan

    init(
        _ session: SQLiteConnection, _ checkpointer: SQLiteCheckpointer, _ settings: SQLiteSettings, _ logger: Logger
    ) {
        self.session = session
        self.checkpointer = checkpointer
        self.logger = logger
        plan = SQLiteLogPlan(settings)
    }

    /// To be called after each batch.
    mutating func keepShort() {
        switch plan.step(pages: session.logPages, checkpointer.take()) {
        case .nothing: break
        case .begin: checkpointer.begin()
        case .restart: restart(Self.patience.short)
        case .restartAtLast:
            checkpointer.rest()
            restart(Self.patience.long)
        }
    }

    private func restart(_ patience: Int32) {
        session.setPatience(milliseconds: patience)
        defer { session.setPatience(milliseconds: SQLiteConnection.patience) }
        do {
            // Whether readers were in the way shows in the log's length after the next commit.
            _ = try session.checkpoint(restarting: true)
        } catch {
            logger.warning("checkpoint failed", metadata: ["reason": "\(error)"])
        }
    }
}
