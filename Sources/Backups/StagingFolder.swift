import Foundation
import Glibc

/// A folder in which files are assembled before they are stored. Each process has its own, beside those of other
/// processes in the same place. A folder that a killed process left behind is removed by the next process.
package final class StagingFolder: Sendable {
    /// The location of the folder.
    package let url: URL
    /// The lock on the folder, or on a file in it. A folder without a lock belongs to nobody.
    private let lock: Int32
    /// The lock file in folders that other machines may share, which may not see a lock on the folder itself.
    package static let lockName = ".lock"

    /// Creates and locks a folder, and removes what killed processes left in its parent.
    /// - Parameter parent: an existing folder that contains only staging folders.
    /// - Throws: ``BackupError`` `unusable`.
    package convenience init(in parent: URL) throws {
        try self.init(in: parent, name: UUID().uuidString, waits: true) {
            UUID(uuidString: $0.lastPathComponent) != nil
        }
    }

    /// Creates and locks a folder beside others.
    /// - Parameters:
    ///   - parent: an existing folder. When another process has locked it, leftovers stay.
    ///   - name: the name of the new folder.
    ///   - isLeft: whether an unlocked item of the parent is a leftover that may be removed.
    /// - Throws: ``BackupError`` `unusable`.
    package convenience init(beside parent: URL, name: String, where isLeft: (URL) -> Bool) throws {
        try self.init(in: parent, name: name, waits: false, where: isLeft)
    }

    private init(in parent: URL, name: String, waits: Bool, where isLeft: (URL) -> Bool) throws {
        let failure = BackupError(
            .unusable, "\(parent.path) cannot be written. Choose another directory with --data.")
        // Locked for a moment, so that no process sees a folder that exists and is not locked yet.
        let file = waits ? Self.lockName : nil
        let gate = Self.locked(parent, file, waits: waits)
        guard gate != nil || !waits else { throw failure }
        defer { if let gate { Self.release(gate) } }
        let names = gate == nil ? [] : (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? []
        for left in names.map({ parent.appendingPathComponent($0) }) where isLeft(left) {
            guard let mine = Self.locked(left, file, waits: false) else { continue }
            try? FileManager.default.removeItem(at: left)
            Self.release(mine)
        }
        url = parent.appendingPathComponent(name)
        guard mkdir(url.path, 0o700) == 0, let lock = Self.locked(url, file, waits: false) else { throw failure }
        self.lock = lock
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
        Self.release(lock)
    }

    private static func locked(_ folder: URL, _ file: String?, waits: Bool) -> Int32? {
        let descriptor =
            if let file {
                open(folder.appendingPathComponent(file).path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            } else {
                open(folder.path, O_RDONLY | O_CLOEXEC)
            }
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func release(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }
}
