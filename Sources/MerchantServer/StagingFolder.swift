import Foundation
import Glibc

/// Where files are put together before they are kept: a folder of this process's own, beside those of other processes that share the place. What
/// a process that was killed has left is removed by the next one.
final class StagingFolder: Sendable {
    let url: URL
    /// Of the folder, locked; a folder without a lock is nobody's.
    private let lock: Int32

    /// - Parameters:
    ///   - parent: is there.
    ///   - name: of the folder.
    ///   - isOne: tells the names of such folders from others that are in the parent.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
    init(
        in parent: URL, name: String = UUID().uuidString, where isOne: (_ name: String) -> Bool = { _ in true }
    ) throws {
        let failure = MerchantServerError(
            .dataDirectoryUnusable, "\(parent.path) cannot be written. Give another directory with --data.")
        // Held for a moment, so that no folder is seen that is there and not locked yet.
        guard let gate = Self.locked(parent, waits: true) else { throw failure }
        defer { Self.release(gate) }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent.path)) ?? [] where isOne(name) {
            let left = parent.appendingPathComponent(name)
            guard let mine = Self.locked(left, waits: false) else { continue }
            try? FileManager.default.removeItem(at: left)
            Self.release(mine)
        }
        url = parent.appendingPathComponent(name)
        guard mkdir(url.path, 0o700) == 0, let lock = Self.locked(url, waits: false) else { throw failure }
        self.lock = lock
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
        Self.release(lock)
    }

    private static func locked(_ folder: URL, waits: Bool) -> Int32? {
        let descriptor = open(folder.path, O_RDONLY | O_CLOEXEC)
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
