import CornerstoreCSQLite
import Foundation
import Synchronization
import Testing

/// Lets the disk be full for one file, by the means that SQLite has for such tests (`xSetSystemCall`).
final class FullDisk: Sendable {
    /// The paths of files that take no more.
    private static let paths = Mutex<Set<String>>([])

    private typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int

    private static let write: Write = { descriptor, bytes, count, offset in
        guard paths.withLock({ !$0.isEmpty }),
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)"),
            paths.withLock({ $0.contains(path) })
        else { return pwrite(descriptor, bytes, count, offset) }
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

    /// - Parameter path: The file, without symbolic links. It is full until ``end()``.
    init(_ path: String) throws {
        try #require(Self.isInstalled)
        self.path = path
        _ = Self.paths.withLock { $0.insert(path) }
    }

    deinit { end() }

    func end() { _ = Self.paths.withLock { [path] in $0.remove(path) } }
}
