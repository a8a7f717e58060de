import Foundation

/// Small files. Reads have a size limit; writes are atomic.
package enum BoundedFile {
    /// The steps of ``write(_:to:mode:before:)``, in order. Crash tests end the process before each of them.
    package enum WriteStep: String, Sendable, CaseIterable {
        case create, write, sync, rename, syncFolder
    }

    /// The file's bytes; nil when the file does not exist, is not a regular file, or has more than `limit` bytes.
    package static func read(_ url: URL, limit: Int) -> Data? {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit,
            let bytes = try? handle.read(upToCount: limit + 1) ?? Data(), bytes.count <= limit
        else { return nil }
        return bytes
    }

    /// Writes a temporary file beside `url`, syncs it, renames it to `url` and syncs the folder. At every moment, and
    /// after a crash, `url` is the old file or the new one.
    ///
    /// The function calls `before` ahead of each step. If `before` throws, the write ends there, as in a crash.
    ///
    /// - Throws: ``DeviceError`` with the failing path and the system's reason.
    package static func write(
        _ bytes: Data, to url: URL, mode: mode_t = 0o600, before: (WriteStep) throws -> Void = { _ in }
    ) throws {
        try before(.create)
        let temporary = url.deletingLastPathComponent().appendingPathComponent(
            ".\(url.lastPathComponent).\(UUID().uuidString)")
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw DeviceError.system("cannot create", temporary) }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try before(.write)
            try handle.write(contentsOf: bytes)
            try before(.sync)
            guard fsync(descriptor) == 0 else { throw DeviceError.system("cannot sync", temporary) }
            try before(.rename)
            guard rename(temporary.path, url.path) == 0 else { throw DeviceError.system("cannot rename to", url) }
        } catch {
            unlink(temporary.path)
            throw error as? DeviceError
                ?? DeviceError(
                    code: .folderUnusable, detail: "cannot write \(temporary.path): \(error.localizedDescription)")
        }
        try before(.syncFolder)
        syncFolder(url.deletingLastPathComponent())
    }

    /// Removes the temporary files that interrupted calls of ``write(_:to:mode:before:)`` left in a folder.
    ///
    /// A write that is under way in the folder fails. Therefore the caller holds the folder's lock, or names a file
    /// whose writer does not matter.
    /// - Parameter file: the name of the file that was written; nil for all files.
    package static func removeLeftovers(in folder: URL, of file: String? = nil) {
        let prefix = file.map { ".\($0)." } ?? "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasPrefix(prefix) {
            guard let end = name.split(separator: ".").last, UUID(uuidString: String(end)) != nil else { continue }
            unlink(folder.appendingPathComponent(name).path)
        }
    }

    private static func syncFolder(_ url: URL) {
        let descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

/// The reason why the device's folder cannot be used.
package struct DeviceError: Error, Equatable {
    package enum Code: String, Sendable {
        /// A folder or file cannot be created, read or written.
        case folderUnusable
        /// Another process of the same app holds the journal.
        case inUse
        /// The journal cannot be read.
        case journalUnusable
    }

    package var code: Code
    package var detail: String

    /// An error for the last failed system call, with the text of `errno`.
    package static func system(_ what: String, _ url: URL) -> DeviceError {
        let reason = String(cString: strerror(errno))
        return DeviceError(code: .folderUnusable, detail: "\(what) \(url.path): \(reason)")
    }
}
