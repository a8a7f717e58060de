import Foundation

/// A new file that is written from beginning to end.
struct WritableFile: ~Copyable {
    /// The path, for errors.
    let path: String
    private let descriptor: Int32

    /// Creates the file, which must not exist, relative to the folder `root` (or to the process's).
    /// - Throws: ``ContentPackageError`` when it cannot be created.
    init(_ path: String, in root: Int32 = AT_FDCWD, mode: mode_t = 0o644) throws {
        descriptor = openat(root, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        self.path = path
        guard descriptor >= 0 else { throw ContentPackageError.writing(path) }
    }

    deinit { close(descriptor) }

    /// Appends the bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var done = 0
        while done < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw ContentPackageError.writing(path) }
            done += count
        }
    }

    /// Sets the mode independently of the process's file mode mask.
    func setMode(_ mode: mode_t) throws {
        guard fchmod(descriptor, mode) == 0 else { throw ContentPackageError.writing(path) }
    }

    /// Fills the buffer from an offset. Reads fewer bytes only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        try ReadableFile.read(descriptor, path, into: buffer, at: offset)
    }

    /// Removes everything from an offset. The next write goes there.
    func cut(to length: Int64) throws {
        guard ftruncate(descriptor, Int(length)) == 0, lseek(descriptor, Int(length), SEEK_SET) >= 0 else {
            throw ContentPackageError.writing(path)
        }
    }
}
