import Foundation
import Synchronization

/// An exclusive lock on an app's folder. The operating system releases it when the process ends, even after a crash.
package final class FolderLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Locks a folder.
    ///
    /// - Parameter waits: whether to wait while another process or object holds the lock.
    /// - Throws: ``DeviceError`` with `inUse` when another process or object holds the lock, and `waits` is false.
    package init(_ folder: URL, waits: Bool = false) throws {
        let file = folder.appendingPathComponent("lock")
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DeviceError.system("cannot open", file) }
        var result: Int32
        repeat { result = flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        guard result == 0 else {
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
