import Foundation
import Glibc
import Synchronization

/// A lock on a server's data directory: of the server, which one process at a time has and of which the file `lock` says which, or of the folder itself,
/// which may be shared. It lasts until it is given back or the process ends in whatever way.
public final class DirectoryLock: Sendable {
    /// Who may have it at the same time.
    public enum Kind: Sendable {
        /// Nobody else.
        case exclusive
        /// All who ask for it so.
        case shared
    }

    /// Why it is not to be had.
    public enum Refusal: Error, Equatable {
        case unwritable
        /// Another process has it: its number, when it has said so.
        case held(by: Int32?)

        /// “ (process 123)”, or nothing.
        public var owner: String {
            if case .held(let owner?) = self { " (process \(owner))" } else { "" }
        }
    }

    /// The descriptor of the locked file; nil once it was given back.
    private let lock: Mutex<Int32?>

    /// Locks a folder itself, whoever may write into it, or is refused at once.
    public init(folder: URL, _ kind: Kind) throws(Refusal) {
        let lock = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard lock >= 0 else { throw .unwritable }
        guard flock(lock, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            Glibc.close(lock)
            throw .held(by: nil)
        }
        self.lock = Mutex(lock)
    }

    /// Takes the server's lock in a folder that is there, or is refused at once.
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

    /// Gives it back, so that it can be taken again. Nothing may be written into the folder afterwards.
    public func release() {
        let held = lock.withLock { lock in
            defer { lock = nil }
            return lock
        }
        guard let held else { return }
        // Closing alone leaves it locked while a child process that is just being started has a copy.
        flock(held, LOCK_UN)
        Glibc.close(held)
    }
}
