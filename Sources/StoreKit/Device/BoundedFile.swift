import Foundation

/// Small files: read with a bound, written whole or not at all.
enum BoundedFile {
    /// The file's bytes, or nil when it is not there, not a plain file, or larger than `limit` bytes.
    static func read(_ url: URL, limit: Int) -> Data? {
        let descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit,
            let bytes = try? handle.read(upToCount: limit + 1) ?? Data(), bytes.count <= limit
        else { return nil }
        return bytes
    }

    /// Writes a temporary file beside `url`, syncs it, renames it over `url` and syncs the folder: a reader and a
    /// crash see the old file or the new one.
    ///
    /// - Throws: ``DeviceError`` with the failing path and the system's reason.
    static func write(_ bytes: Data, to url: URL, mode: mode_t = 0o600) throws {
        let temporary = url.deletingLastPathComponent().appendingPathComponent(
            ".\(url.lastPathComponent).\(UUID().uuidString)")
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw DeviceError.system("cannot create", temporary) }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: bytes)
            guard fsync(descriptor) == 0 else { throw DeviceError.system("cannot sync", temporary) }
            guard rename(temporary.path, url.path) == 0 else { throw DeviceError.system("cannot rename to", url) }
        } catch {
            unlink(temporary.path)
            throw error as? DeviceError
                ?? DeviceError(
                    code: .folderUnusable, detail: "cannot write \(temporary.path): \(error.localizedDescription)")
        }
        syncFolder(url.deletingLastPathComponent())
    }

    /// Removes what ``write(_:to:mode:)`` left in a folder when its process ended in the middle. The caller holds the folder's lock.
    static func removeLeftovers(in folder: URL) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] where name.hasPrefix(".")
        {
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

/// Why the device's folder cannot be used.
struct DeviceError: Error, Equatable {
    enum Code: String, Sendable {
        /// A folder or file cannot be made, read or written.
        case folderUnusable
        /// Another process of the same app holds the journal.
        case inUse
        /// The journal cannot be read.
        case journalUnusable
    }

    var code: Code
    var detail: String

    /// The last system call's failure.
    static func system(_ what: String, _ url: URL) -> DeviceError {
        let reason = String(cString: strerror(errno))
        return DeviceError(code: .folderUnusable, detail: "\(what) \(url.path): \(reason)")
    }
}
