import Foundation

/// A new file that is written from its beginning to its end.
struct WritableFile: ~Copyable {
    /// For errors.
    let path: String
    private let descriptor: Int32

    /// Makes the file, which must not be there, below the folder of `root` (or of the process).
    /// - Throws: ``ContentPackageError`` when it cannot be made.
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

    /// Sets the mode whatever the process's mask is.
    func setMode(_ mode: mode_t) throws {
        guard fchmod(descriptor, mode) == 0 else { throw ContentPackageError.writing(path) }
    }

    /// Fills the buffer from a place on; fewer bytes only where the file ends.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        var done = 0
        while done < buffer.count {
            let count = pread(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, Int(offset) + done)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ContentPackageError.reading(path) }
            guard count > 0 else { break }
            done += count
        }
        return done
    }

    /// Forgets all from a place on; the next write goes there.
    func cut(to length: Int64) throws {
        guard ftruncate(descriptor, Int(length)) == 0, lseek(descriptor, Int(length), SEEK_SET) >= 0 else {
            throw ContentPackageError.writing(path)
        }
    }
}
