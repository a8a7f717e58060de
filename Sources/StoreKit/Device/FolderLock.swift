import Foundation
import Synchronization

/// An exclusive lock on an app's folder. The operating system releases it when the process ends, even after a crash.
package final class FolderLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Locks a folder.
    ///
    /// - Throws: ``DeviceError`` with `inUse` when another process or object holds the lock.
    package init(_ folder: URL) throws {
        let file = folder.appendingPathComponent("lock")
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DeviceError.system("cannot open", file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error =
                errno == EWOULDBLOCK
                ? DeviceError(
                    code: .inUse,
                    detail: "another process of this app holds \(folder.path); end it, or use another device folder")
                : DeviceError.system("cannot lock", file)
            close(descriptor)
            throw error
        }
        self.descriptor = Mutex(descriptor)
    }

    package func release() {
        descriptor.withLock {
            guard $0 >= 0 else { return }
            // Closing alone leaves the folder locked while a child process that is being started has a copy of the
            // descriptor.
            flock($0, LOCK_UN)
            close($0)
            $0 = -1
        }
    }

    deinit { release() }
}
