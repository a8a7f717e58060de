import Logging

/// The length of the write-ahead log, as the writer keeps it in bounds between its batches.
struct SQLiteLog {
    /// What the writer waits for readers when the log could begin anew, and when it must.
    private static let patience: (short: Int32, long: Int32) = (5, 1_000)

    private let session: SQLiteConnection
    private let checkpointer: SQLiteCheckpointer
    private let settings: SQLiteSettings
    private let logger: Logger
    /// The length at which the checkpointer is begun next.
    private var next: Int
    /// Beyond this length the writer moves the log itself, however long it takes.
    private var limit: Int
    /// How much of the log was in the file when the checkpointer last ended.
    private var moved = 0

    init(
        _ session: SQLiteConnection, _ checkpointer: SQLiteCheckpointer, _ settings: SQLiteSettings, _ logger: Logger
    ) {
        self.session = session
        self.checkpointer = checkpointer
        self.settings = settings
        self.logger = logger
        next = settings.checkpointPages
        limit = settings.longestLog
    }

    /// To be called after each batch.
    mutating func keepShort() {
        let pages = session.logPages
        if pages < settings.checkpointPages {
            (next, limit, moved) = (settings.checkpointPages, settings.longestLog, 0)
        } else if pages >= limit {
            checkpointer.whileItRests { restart(Self.patience.long) }
            // A reader may hold the log for longer still.
            limit = pages + settings.longestLog / 4
        } else if let nowMoved = checkpointer.takeMoved() {
            advance(pages, nowMoved)
        } else if pages >= next {
            checkpointer.begin()
        }
    }

    private mutating func advance(_ pages: Int, _ nowMoved: Int) {
        let few = min(settings.checkpointPages / 2, settings.standstillPages)
        if pages - nowMoved < few {
            restart(Self.patience.short)
            next = pages + few
        } else {
            // When a reader holds the log, trying again at once would bring nothing.
            next = nowMoved > moved ? pages : pages + few
        }
        moved = nowMoved
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
