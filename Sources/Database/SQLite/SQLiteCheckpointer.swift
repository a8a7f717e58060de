import Dispatch
import Logging
import Synchronization

/// Moves the log's pages into the file on a thread and connection of its own, so that the writer goes on meanwhile.
///
/// SQLite begins the log anew only when every page of it has been moved, and a busy writer always adds some. So when most
/// are moved the writer moves the rest itself, between two batches.
final class SQLiteCheckpointer: Sendable {
    private enum State {
        case idle
        case working
        /// So many pages of the log are in the file.
        case moved(Int)
        case stopped
    }

    private let path: String
    private let settings: SQLiteSettings
    private let logger: Logger
    private let state = Mutex(State.idle)
    /// Held during a checkpoint.
    private let work = Mutex(())
    private let wakeups = DispatchSemaphore(value: 0)

    init(_ path: String, _ settings: SQLiteSettings, _ logger: Logger) {
        self.path = path
        self.settings = settings
        self.logger = logger
    }

    /// Works until it is stopped.
    func run() {
        var session: SQLiteConnection?
        while true {
            wakeups.wait()
            if state.withLock({ if case .stopped = $0 { true } else { false } }) { return }
            let moved = work.withLock { _ in checkpoint(&session) }
            state.withLock { state in
                if case .working = state { state = .moved(moved) }
            }
        }
    }

    private func checkpoint(_ session: inout SQLiteConnection?) -> Int {
        do {
            let connection = try session ?? SQLiteConnection(path: path, .readWrite, cache: settings.readerCache)
            session = connection
            let moved = try connection.checkpoint(restarting: false)?.movedPages ?? 0
            // Here it delays nobody. The writer's own flush, for which everybody waits, then finds little left to do.
            try connection.flushFile()
            return moved
        } catch {
            logger.warning("checkpoint failed", metadata: ["reason": "\(error)"])
            session = nil
            return 0
        }
    }

    /// Runs `body` when no checkpoint of the thread's is under way.
    func whileItRests(_ body: () -> Void) {
        work.withLock { _ in body() }
    }

    /// Ends the thread.
    func stop() {
        state.withLock { $0 = .stopped }
        wakeups.signal()
    }

    /// Wakes the thread unless it works already.
    func begin() {
        let wakes = state.withLock { state in
            guard case .idle = state else { return false }
            state = .working
            return true
        }
        if wakes { wakeups.signal() }
    }

    /// How many pages the thread has moved, once after each time that it was begun.
    func takeMoved() -> Int? {
        state.withLock { state in
            guard case .moved(let pages) = state else { return nil }
            state = .idle
            return pages
        }
    }
}
