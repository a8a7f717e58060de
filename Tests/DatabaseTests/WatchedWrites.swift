import Foundation
import GRDBSQLite
import Synchronization
import Testing

/// Counts the writes to one file, or lets the disk be full for it, by the means that SQLite has for such tests
/// (`xSetSystemCall`).
final class WatchedWrites: Sendable {
    private struct File {
        var count = 0
        var isFull = false
    }

    /// By path.
    private static let files = Mutex<[String: File]>([:])

    private typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    private static let write: Write = { descriptor, bytes, count, offset in
        guard files.withLock({ !$0.isEmpty }),
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        else { return pwrite(descriptor, bytes, count, offset) }
        let isFull = files.withLock { files in
            files[path]?.count += 1
            return files[path]?.isFull ?? false
        }
        guard isFull else { return pwrite(descriptor, bytes, count, offset) }
        errno = ENOSPC
        return -1
    }

    /// Stays for all tests after the first that asks for it.
    private static let isInstalled: Bool = {
        guard let fileSystem = sqlite3_vfs_find(nil) else { return false }
        let codes = (["pwrite", "pwrite64"] as [String]).filter { (name: String) in
            fileSystem.pointee.xGetSystemCall(fileSystem, name) != nil
        }.map { (name: String) in
            fileSystem.pointee.xSetSystemCall(fileSystem, name, unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
        }
        return !codes.isEmpty && codes.allSatisfy { $0 == SQLITE_OK }
    }()

    private let path: String

    /// - Parameter path: without symbolic links.
    init(_ path: String) throws {
        try #require(Self.isInstalled)
        self.path = path
        Self.files.withLock { $0[path] = File() }
    }

    deinit { Self.files.withLock { [path] in $0[path] = nil } }

    var count: Int { Self.files.withLock { $0[path]?.count ?? 0 } }

    func setFull(_ isFull: Bool) { Self.files.withLock { $0[path]?.isFull = isFull } }
}
