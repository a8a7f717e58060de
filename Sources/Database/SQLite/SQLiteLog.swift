import Logging

/// Keeps the write-ahead log short, between the writer's batches.
struct SQLiteLog {
    /// How long the writer waits for the log's readers, in milliseconds: short when the log may restart, long when it
    /// must.
    private static let patience: (short: Int32, long: Int32) = (5, 1_000)

    private let session: SQLiteSession
    private let checkpointer: SQLiteCheckpointer
    private let logger: Logger
    private var plan: SQLiteLogPlan

    init(
        _ session: SQLiteSession, _ checkpointer: SQLiteCheckpointer, _ settings: SQLiteSettings, _ logger: Logger
    ) {
        self.session = session
        self.checkpointer = checkpointer
        self.logger = logger
        plan = SQLiteLogPlan(settings)
    }

    /// Does the next step of the plan. Call it after each batch.
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
        defer { session.setPatience(milliseconds: SQLiteEngine.patience) }
        do {
            // If readers prevented the restart, the log is longer after the next commit.
            _ = try session.checkpoint(restarting: true)
        } catch {
            logger.warning("checkpoint failed", metadata: ["reason": "\(error)"])
        }
    }
}
