/// Decides, after each batch of the writer, what is done about the length of the write-ahead log. Pure: ``SQLiteLog``
/// does it.
///
/// The log can start again when all its pages are in the file. The checkpointer moves pages beside the writer. The
/// writer moves the last of them itself and lets the log start again, only while the checkpointer has nothing to do:
/// SQLite before 3.51.3 loses pages when a log starts again while another connection begins a checkpoint of it
/// (https://www.sqlite.org/wal.html#walresetbug).
struct SQLiteLogPlan {
    /// The state of the checkpointer.
    enum Standing: Equatable, Sendable {
        case idle
        /// A checkpoint was asked for and has not ended.
        case busy
        /// A checkpoint has ended since the last look. So many pages of the log were in the file then.
        case moved(Int)
    }

    enum Action: Equatable, Sendable {
        case nothing
        /// Ask the checkpointer for a checkpoint.
        case begin
        /// Move the rest, and let the log start again unless readers hold it.
        case restart
        /// Wait for the end of any checkpoint; then do as for ``restart``, and wait longer for readers.
        case restartAtLast
    }

    private let settings: SQLiteSettings
    /// The most pages that the writer moves itself, and by which the log grows before the next attempt.
    private let few: Int
    /// The length at which the checkpointer is asked next.
    private var next: Int
    /// The length above which the writer moves the log itself, however long it takes.
    private var limit: Int

    init(_ settings: SQLiteSettings) {
        self.settings = settings
        few = min(settings.checkpointPages / 2, settings.standstillPages)
        next = settings.checkpointPages
        limit = settings.longestLog
    }

    /// - Parameter pages: the log's length after the batch.
    mutating func step(pages: Int, _ standing: Standing) -> Action {
        guard pages >= settings.checkpointPages else {
            (next, limit) = (settings.checkpointPages, settings.longestLog)
            return .nothing
        }
        if pages >= limit {
            // A reader may hold the log for longer still.
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
            // While a reader holds the log, an attempt after each batch would move nothing.
            next = pages + few
            return .begin
        }
    }
}
