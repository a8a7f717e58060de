import Foundation

/// A plain file that is read at any place, by several threads at once.
final class ReadableFile: Sendable {
    /// For errors.
    let path: String
    /// Its size when it was opened, in bytes.
    let length: Int64
    private let descriptor: Int32

    /// - Parameter followsLink: whether `path` may be a symbolic link to the file.
    /// - Throws: ``ContentPackageError`` when it is not there, cannot be read or is no plain file.
    init(_ path: String, followsLink: Bool = true) throws {
        // Without O_NONBLOCK the opening of a pipe would wait for its writer.
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (followsLink ? 0 : O_NOFOLLOW))
        guard opened >= 0 else { throw ContentPackageError.reading(path) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw ContentPackageError(.unreadable, "\(path) is no plain file.")
        }
        self.path = path
        length = Int64(status.st_size)
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Fills the buffer from a place on; fewer bytes only where the file ends.
    /// - Returns: how many bytes were read.
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

    /// So many bytes from a place on; fewer only where the file ends.
    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }
}
