import Foundation
import Glibc
import Synchronization

/// The folder in which a server keeps everything, held by one process at a time.
public final class DataDirectory: Sendable {
    public let url: URL
    /// The descriptor of the locked file; nil once the folder was given back.
    private let lock: Mutex<Int32?>

    /// Takes the folder, which is made with mode 0700 when it is not there.
    /// - Throws: ``StoreServerError`` when another process has it, or it cannot be made or written.
    public init(_ url: URL) throws {
        self.url = url
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be made. Give another with --data.")
        }
        let path = url.appendingPathComponent("lock").path
        let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else {
            throw StoreServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be written. Give another with --data.")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let owner =
                (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines)
                ?? ""
            Glibc.close(lock)
            throw StoreServerError(
                .dataDirectoryInUse,
                "The data directory \(url.path) is in use by another cornerstore\(owner.isEmpty ? "" : " (process \(owner))"). "
                    + "Stop it, or give another directory with --data.")
        }
        let line = Array("\(getpid())\n".utf8)
        ftruncate(lock, 0)
        _ = pwrite(lock, line, line.count, 0)
        self.lock = Mutex(lock)
    }

    deinit { release() }

    /// Gives the folder back, so that it can be opened again. Nothing may be written afterwards.
    func release() {
        let held = lock.withLock { lock in
            defer { lock = nil }
            return lock
        }
        guard let held else { return }
        // Closing alone leaves it locked while a child process that is just being started has a copy.
        flock(held, LOCK_UN)
        Glibc.close(held)
    }

    /// A path in it.
    public func path(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// Makes a folder in it, mode 0700.
    func makeFolder(_ name: String) throws -> URL {
        let folder = path(name)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }

    /// Writes a file aside and puts it in its place, so that a reader sees the old one or the new one whole.
    /// - Parameter isSecret: mode 0600 rather than 0644 from the first byte on.
    func write(_ bytes: some DataProtocol, to name: String, isSecret: Bool) throws {
        let target = path(name)
        let aside = target.path + ".\(getpid()).new"
        unlink(aside)
        let file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isSecret ? 0o600 : 0o644)
        guard file >= 0 else { throw failure(name) }
        let data = Array(bytes)
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
