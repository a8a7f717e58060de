/// Decides, after each batch of the writer, what is done about the length of the write-ahead log. Pure: ``SQLiteLog`` does it.
///
/// The log begins anew when every page of it is in the file. The checkpointer moves pages beside the writer; the writer moves
/// the last of them itself and lets the log begin anew, and does so only while the checkpointer has nothing to do. SQLite
/// before 3.51.3 loses pages where a log begins anew while another connection begins a checkpoint of it
/// (https://www.sqlite.org/wal.html#walresetbug).
struct SQLiteLogPlan {
    /// Where the checkpointer stands.
    enum Standing: Equatable, Sendable {
        case idle
        /// It was asked for a checkpoint that has not ended.
        case busy
        /// Its checkpoint has ended since the last look, with so many pages of the log in the file.
        case moved(Int)
    }

    enum Action: Equatable, Sendable {
        case nothing
        /// Ask the checkpointer for a checkpoint.
        case begin
        /// Move the rest, and let the log begin anew unless readers hold it.
        case restart
        /// Take back what the checkpointer was asked for, or wait for its end; then do as for ``restart``, and wait for readers longer.
        case restartAtLast
    }

    private let settings: SQLiteSettings
    /// The length at which the checkpointer is asked next.
    private var next: Int
    /// Beyond this length the writer moves the log itself, however long it takes.
    private var limit: Int
    /// How much of the log was in the file when the checkpointer last ended.
    private var moved = 0
    /// Whether the checkpoint that is under way was asked for before the log began anew: what it moved says nothing of this log.
    private var isOfEarlierLog = false

    init(_ settings: SQLiteSettings) {
        self.settings = settings
        next = settings.checkpointPages
        limit = settings.longestLog
    }

    /// - Parameter pages: the log's length after the batch.
    mutating func step(pages: Int, _ standing: Standing) -> Action {
        guard pages >= settings.checkpointPages else {
            (next, limit, moved) = (settings.checkpointPages, settings.longestLog, 0)
            isOfEarlierLog = standing == .busy
            return .nothing
        }
        if pages >= limit {
            // A reader may hold the log for longer still.
            limit = pages + settings.longestLog / 4
            isOfEarlierLog = false
            return .restartAtLast
        }
        switch standing {
        case .busy: return .nothing
        case .moved(let pagesMoved) where !isOfEarlierLog: return advance(pages, pagesMoved)
        case .moved, .idle:
            isOfEarlierLog = false
            return pages >= next ? .begin : .nothing
        }
    }

    private mutating func advance(_ pages: Int, _ nowMoved: Int) -> Action {
        defer { moved = nowMoved }
        let few = min(settings.checkpointPages / 2, settings.standstillPages)
        guard pages - nowMoved < few else {
            // When a reader holds the log, trying again at once would bring nothing.
            next = nowMoved > moved ? pages : pages + few
            return .nothing
        }
        next = pages + few
        return .restart
    }
}
