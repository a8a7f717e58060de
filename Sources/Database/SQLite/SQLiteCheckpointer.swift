import Dispatch
import Logging
import Synchronization

/// Moves the log's pages into the file on a thread and connection of its own, so that the writer goes on meanwhile.
///
/// SQLite begins the log anew only when every page of it has been moved, and a busy writer always adds some. So when most
/// are moved the writer moves the rest itself, between two batches. The writer alone asks for checkpoints, and lets the log
/// begin anew only while none is asked for or under way.
final class SQLiteCheckpointer: Sendable {
    private enum State: Equatable {
        case idle
        /// The thread was woken, and has not begun.
        case asked
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
        var session: SQLiteSession?
        while true {
            wakeups.wait()
            if state.withLock({ if case .stopped = $0 { true } else { false } }) { return }
            work.withLock { _ in
                guard change(from: .asked, to: .working) else { return }
                let moved = checkpoint(&session)
                _ = change(from: .working, to: .moved(moved))
            }
        }
    }

    /// Whether the state was `old`, and is `new` now.
    private func change(from old: State, to new: State) -> Bool {
        state.withLock { state in
            guard state == old else { return false }
            state = new
            return true
        }
    }

    private func checkpoint(_ session: inout SQLiteSession?) -> Int {
        do {
            let connection = try session ?? SQLiteSession(path: path, .readWrite, cache: settings.readerCache)
            session = connection
            let moved = try connection.checkpoint(restarting: false) ?? 0
            // Here it delays nobody. The writer's own flush, for which everybody waits, then finds little left to do.
            try connection.flushFile()
            return moved
        } catch {
            logger.warning("checkpoint failed", metadata: ["reason": "\(error)"])
            session = nil
            return 0
        }
    }

    /// Ends the thread.
    func stop() {
        state.withLock { $0 = .stopped }
        wakeups.signal()
    }

    /// Asks for a checkpoint, unless the thread has something to do or its last answer was not taken yet.
    func begin() {
        if change(from: .idle, to: .asked) { wakeups.signal() }
    }

    /// Where the thread stands. What it has moved is told once.
    func take() -> SQLiteLogPlan.Standing {
        state.withLock { state in
            switch state {
            case .idle, .stopped: return .idle
            case .asked, .working: return .busy
            case .moved(let pages):
                state = .idle
                return .moved(pages)
            }
        }
    }

    /// Takes back what the thread was asked for and has not begun, and waits for the end of what it has. Afterwards it does
    /// nothing until it is asked again, and the answer is forgotten.
    func rest() {
        guard !change(from: .asked, to: .idle) else { return }
        work.withLock { _ in }
        _ = take()
    }
}
