import Dispatch
import Logging
import Synchronization

/// Moves the log's pages into the file while the writer works, on a connection of its own.
///
/// SQLite overwrites the log from its start only when all its pages have been moved, and a busy writer always adds some
/// more. So the writer moves the last pages itself, between two batches. Only the writer requests checkpoints, and it
/// restarts the log only while no checkpoint is requested or running; ``SQLiteLogPlan`` says why.
final class SQLiteCheckpointer: Sendable {
    private let path: String
    private let settings: SQLiteSettings
    private let logger: Logger
    private let standing = Mutex(SQLiteLogPlan.Standing.idle)
    /// Runs one checkpoint at a time.
    private let queue = DispatchQueue(label: "sqlite.log")
    /// The connection, used only on the queue.
    private let session = Mutex<SQLiteSession?>(nil)

    init(_ path: String, _ settings: SQLiteSettings, _ logger: Logger) {
        self.path = path
        self.settings = settings
        self.logger = logger
    }

    /// Requests a checkpoint, unless one is running or its result was not taken yet.
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

    /// Returns the state of the last checkpoint that was requested. A result is returned once.
    func take() -> SQLiteLogPlan.Standing {
        standing.withLock { standing in
            let found = standing
            if found != .busy { standing = .idle }
            return found
        }
    }

    /// Waits for the end of the requested checkpoint, and discards its result. No checkpoint is running afterwards.
    func rest() {
        queue.sync {}
        _ = take()
    }

    /// Waits as ``rest()`` does, and closes the connection.
    func close() {
        queue.sync { session.withLock { $0 = nil } }
    }

    /// Runs a checkpoint.
    ///
    /// - Returns: The number of the log's pages that are in the file; 0 after a failure.
    private func checkpoint() -> Int {
        session.withLock { session in
            do {
                let open = try session ?? SQLiteSession(path: path, .readWrite, cache: settings.readerCache)
                session = open
                let moved = try open.checkpoint(restarting: false) ?? 0
                // This flush delays no transaction. It leaves little to flush for the writer, whose flush delays all
                // writes.
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
