import Foundation
import Glibc
import Synchronization

/// A lock on a server's data directory. There are two kinds: the server's lock, which one process at a time holds and
/// whose file `lock` names that process; and a lock on the folder itself, which may be shared. A lock lasts until it is
/// released or the process ends for any reason.
public final class DirectoryLock: Sendable {
    /// The number of processes that may hold a folder's lock at the same time.
    public enum Kind: Sendable {
        /// One holder only.
        case exclusive
        /// Every holder that asks for a shared lock.
        case shared
    }

    /// The reason why a lock was refused.
    public enum Refusal: Error, Equatable {
        /// The folder or its lock file cannot be opened.
        case unwritable
        /// Another process holds the lock; its process id, when it is known.
        case held(by: Int32?)

        /// “ (process 123)”, or an empty text when the holder is not known.
        public var owner: String {
            if case .held(let owner?) = self { " (process \(owner))" } else { "" }
        }
    }

    /// The descriptor of the locked file; nil once the lock is released.
    private let lock: Mutex<Int32?>

    /// Locks the folder itself, without the need to write to it. Does not wait.
    /// - Throws: ``Refusal``.
    public init(folder: URL, _ kind: Kind) throws(Refusal) {
        let lock = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0 else { throw .unwritable }
        guard flock(lock, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            Glibc.close(lock)
            throw .held(by: nil)
        }
        self.lock = Mutex(lock)
    }

    /// Takes the server's lock in an existing folder. Does not wait.
    /// - Throws: ``Refusal``.
    public init(_ folder: URL) throws(Refusal) {
        let path = folder.appendingPathComponent("lock").path
        let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .unwritable }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let owner = try? String(contentsOfFile: path, encoding: .utf8)
            Glibc.close(lock)
            throw .held(by: owner.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
        }
        let line = Array("\(getpid())\n".utf8)
        ftruncate(lock, 0)
        _ = pwrite(lock, line, line.count, 0)
        self.lock = Mutex(lock)
    }

    deinit { release() }

    /// Releases the lock, so that it can be taken again. Do not write to the folder afterwards.
    public func release() {
        let held = lock.withLock { lock in
            defer { lock = nil }
            return lock
        }
        guard let held else { return }
        // Closing alone would keep the lock while a child process that is being started has a copy of the descriptor.
        flock(held, LOCK_UN)
        Glibc.close(held)
    }
}
