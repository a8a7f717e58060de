import Foundation
import Glibc

/// Where files are put together before they are kept: a folder of this process's own, beside those of other processes that share the place. What
/// a process that was killed has left is removed by the next one.
final class StagingFolder: Sendable {
    let url: URL
    /// Of the folder, or of a file in it, locked; a folder without a lock is nobody's.
    private let lock: Int32
    /// The file that is locked in a folder whose place other machines may share: a folder's own lock they may not see.
    static let lockName = ".lock"

    /// - Parameter parent: is there, and for such folders alone.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
    convenience init(in parent: URL) throws {
        try self.init(in: parent, name: UUID().uuidString, waits: true) {
            UUID(uuidString: $0.lastPathComponent) != nil
        }
    }

    /// - Parameters:
    ///   - parent: is there; when somebody else has locked it, what others have left stays.
    ///   - name: of the folder.
    ///   - isLeft: tells what may be removed, when nobody has locked it, from what else is in the parent.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
    convenience init(beside parent: URL, name: String, where isLeft: (URL) -> Bool) throws {
        try self.init(in: parent, name: name, waits: false, where: isLeft)
    }

    private init(in parent: URL, name: String, waits: Bool, where isLeft: (URL) -> Bool) throws {
        let failure = MerchantServerError(
            .dataDirectoryUnusable, "\(parent.path) cannot be written. Give another directory with --data.")
        // Held for a moment, so that no folder is seen that is there and not locked yet.
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
