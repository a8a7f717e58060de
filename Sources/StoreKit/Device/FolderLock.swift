import Foundation
import Synchronization

/// Keeps other processes out of an app's folder for as long as it is held. The system frees it when the process ends,
/// however it ends.
package final class FolderLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// - Throws: ``DeviceError`` with `inUse` when another holder is alive.
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
            // Closing alone leaves it locked while a child process that is just being started has a copy.
            flock($0, LOCK_UN)
            close($0)
            $0 = -1
        }
    }

    deinit { release() }
}
