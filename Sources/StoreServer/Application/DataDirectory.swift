import Foundation
import Glibc
import ServerSupport
import Synchronization

/// The folder in which a server keeps everything. One process at a time can hold it.
public final class DataDirectory: Sendable {
    /// The folder's location.
    public let url: URL
    private let lock: DirectoryLock
    /// Lets one write of a file follow the other, since they use the same name beside it.
    private let writes = Mutex(())

    /// Locks the folder, and creates it with mode 0700 when it does not exist.
    /// A restore that was killed while it moved its files into the folder is ended first.
    /// - Throws: ``StoreServerError`` when another process holds the folder, or it cannot be created or written.
    public init(_ url: URL) throws {
        self.url = url
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be created. Choose another with --data.")
        }
        do {
            lock = try DirectoryLock(url)
        } catch .unwritable {
            throw StoreServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be written. Choose another with --data.")
        } catch {
            throw StoreServerError(
                .dataDirectoryInUse,
                "The data directory \(url.path) is in use by another cornerstore\(error.owner). Stop it, or choose another directory with "
                    + "--data.")
        }
        try StoreFiles.finish(in: url)
    }

    /// Releases the folder, so that it can be opened again. Do not write to it afterwards.
    func release() { lock.release() }

    /// The location of a file or folder in the directory.
    public func path(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// Creates a folder in the directory, mode 0700.
    func makeFolder(_ name: String) throws -> URL {
        let folder = path(name)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }

    /// Writes a file beside its target and renames it into place, so that a reader sees either the old file or the new
    /// one.
    /// - Parameter isSecret: whether the file has mode 0600 rather than 0644, from the first byte on.
    func write(_ bytes: some DataProtocol, to name: String, isSecret: Bool) throws {
        let data = Array(bytes)
        try writes.withLock { _ in try replace(name, by: data, isSecret: isSecret) }
    }

    /// Writes a file as ``write(_:to:isSecret:)`` does.
    /// - Parameter bytes: the contents. Called once no other write is in progress, so that the last write of a file has
    ///   the newest contents.
    func write(_ name: String, isSecret: Bool, _ bytes: () throws -> Data) throws {
        try writes.withLock { _ in try replace(name, by: Array(bytes()), isSecret: isSecret) }
    }

    private func replace(_ name: String, by data: [UInt8], isSecret: Bool) throws {
        let target = path(name)
        let aside = target.path + ".\(getpid()).new"
        unlink(aside)
        let file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isSecret ? 0o600 : 0o644)
        guard file >= 0 else { throw failure(name) }
        var written = 0
        while written < data.count {
            let count = data.withUnsafeBytes {
                Glibc.write(file, $0.baseAddress.map { $0 + written }, data.count - written)
            }
            guard count > 0 else {
                Glibc.close(file)
                unlink(aside)
                throw failure(name)
            }
            written += count
        }
        fsync(file)
        Glibc.close(file)
        guard rename(aside, target.path) == 0 else {
            unlink(aside)
            throw failure(name)
        }
    }

    private func failure(_ name: String) -> StoreServerError {
        StoreServerError(.dataDirectoryUnusable, "\(path(name).path) cannot be written. Is the disk full?")
    }
}
