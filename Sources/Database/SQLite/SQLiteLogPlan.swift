/// Decides after each batch of the writer how to keep the write-ahead log short. ``SQLiteLog`` carries the decision
/// out.
///
/// The log can restart when all its pages are in the file. The checkpointer moves pages while the writer works. The
/// writer moves the last pages itself and restarts the log, but only while the checkpointer is idle: SQLite before
/// 3.51.3 loses pages when a log restarts while another connection begins a checkpoint of it
/// (https://www.sqlite.org/wal.html#walresetbug).
struct SQLiteLogPlan {
    /// The state of the checkpointer.
    enum Standing: Equatable, Sendable {
        case idle
        /// A checkpoint was requested and has not ended.
        case busy
        /// A checkpoint has ended since the last step, with this number of the log's pages in the file.
        case moved(Int)
    }

    enum Action: Equatable, Sendable {
        case nothing
        /// Request a checkpoint from the checkpointer.
        case begin
        /// Move the remaining pages, and restart the log unless readers prevent it.
        case restart
        /// Wait for the end of any checkpoint. Then do as for ``restart``, and wait longer for readers.
        case restartAtLast
    }

    private let settings: SQLiteSettings
    /// The greatest number of pages that the writer moves itself, and the log's growth before the next attempt.
    private let few: Int
    /// The log's length at which the next checkpoint is requested.
    private var next: Int
    /// The log's length above which the writer moves all pages itself, however long it takes.
    private var limit: Int

    init(_ settings: SQLiteSettings) {
        self.settings = settings
        few = min(settings.checkpointPages / 2, settings.standstillPages)
        next = settings.checkpointPages
        limit = settings.longestLog
    }

    /// Decides the next step.
    ///
    /// - Parameter pages: The log's length after the batch.
    mutating func step(pages: Int, _ standing: Standing) -> Action {
        guard pages >= settings.checkpointPages else {
            (next, limit) = (settings.checkpointPages, settings.longestLog)
            return .nothing
        }
        if pages >= limit {
            // A reader may prevent the restart for longer still.
            limit = pages + settings.longestLog / 4
            return .restartAtLast
        }
        switch standing {
        case .busy:
            return .nothing
        case .moved(let moved) where pages - moved < few:
            next = pages + few
            return .restart
        case .moved, .idle:
            guard pages >= next else { return .nothing }
            // While a reader prevents the restart, an attempt after each batch would move no pages.
            next = pages + few
            return .begin
        }
    }
}
