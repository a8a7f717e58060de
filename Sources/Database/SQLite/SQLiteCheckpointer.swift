import Dispatch
import Logging
import Synchronization

/// Moves the log's pages into the file beside the writer, on a connection of its own.
///
/// SQLite starts the log again only when every page of it has been moved, and a busy writer always adds some. So the
/// writer moves the last pages itself, between two batches. Only the writer asks for checkpoints, and it starts the log
/// again only while none is asked for or under way; ``SQLiteLogPlan`` says why.
final class SQLiteCheckpointer: Sendable {
    private let path: String
    private let settings: SQLiteSettings
    private let logger: Logger
    private let standing = Mutex(SQLiteLogPlan.Standing.idle)
    /// Runs one checkpoint after the other.
    private let queue = DispatchQueue(label: "sqlite.log")
    /// Used on the queue alone.
    private let session = Mutex<SQLiteSession?>(nil)

    init(_ path: String, _ settings: SQLiteSettings, _ logger: Logger) {
        self.path = path
        self.settings = settings
        self.logger = logger
    }

    /// Asks for a checkpoint, unless one is under way or its result was not taken yet.
    func begin() {
        let begins = standing.withLock { standing in
            guard standing == .idle else { return false }
            standing = .busy
            return true
        }
        guard begins else { return }
        queue.async { [self] in
            let moved = checkpoint()
            standing.withLock { $0 = .moved(moved) }
        }
    }

    /// The state of the last checkpoint that was asked for. Its result is given once.
    func take() -> SQLiteLogPlan.Standing {
        standing.withLock { standing in
            let found = standing
            if found != .busy { standing = .idle }
            return found
        }
    }

    /// Waits until the checkpoint that was asked for has ended, and forgets its result. Nothing is under way
    /// afterwards.
    func rest() {
        queue.sync {}
        _ = take()
    }

    /// Waits as ``rest()`` does, and closes the connection.
    func close() {
        queue.sync { session.withLock { $0 = nil } }
    }

    /// Returns how many of the log's pages are in the file; 0 after a failure.
    private func checkpoint() -> Int {
        session.withLock { session in
            do {
                let open = try session ?? SQLiteSession(path: path, .readWrite, cache: settings.readerCache)
                session = open
                let moved = try open.checkpoint(restarting: false) ?? 0
                // Here it delays nobody. The writer's own flush, for which everybody waits, then finds little to do.
                try open.flushFile()
                return moved
            } catch {
                logger.warning("checkpoint failed", metadata: ["reason": "\(error)"])
                session = nil
                return 0
            }
        }
    }
}
