import Foundation
import Glibc
import NIOCore

/// An open file that any thread can read at any offset. It stays readable after its name is removed.
public final class BlobFile: Sendable {
    private let descriptor: Int32
    /// The file's size in bytes when it was opened.
    public let size: Int64
    /// The modification time in nanoseconds since 1970 when the file was opened.
    public let modified: Int64

    /// Opens a regular file.
    /// - Throws: ``BlobError`` `notFound` when there is no such file, or `unavailable` when it cannot be read.
    public init(_ file: URL) throws {
        // Without O_NONBLOCK, opening a pipe would wait for its writer.
        descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw errno == ENOENT
                ? BlobError(.notFound, "No file has this digest.")
                : BlobError(.unavailable, "A file cannot be read: \(String(cString: strerror(errno))).")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw BlobError(.notFound, "No regular file has this digest.")
        }
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    deinit { close(descriptor) }

    /// Reads exactly `count` bytes. Blocks on the disk.
    /// - Throws: ``BlobError`` when the file ends earlier.
    public func read(at offset: Int64, count: Int) throws -> ByteBuffer {
        var buffer = ByteBuffer()
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            var filled = 0
            while filled < count {
                let got = pread(
                    descriptor, bytes.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + filled)
                if got < 0, errno == EINTR { continue }
                guard got > 0 else { throw BlobError(.refused, "A file became shorter or cannot be read.") }
                filled += got
            }
            return filled
        }
        return buffer
    }

    /// The bytes of a range.
    /// - Throws: ``BlobError`` `invalidRange` when the range is not within the file.
    public func bytes(in range: Range<Int64>) throws -> BlobBytes {
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw BlobError(.invalidRange, "The bytes \(range.lowerBound) to \(range.upperBound) are outside the file.")
        }
        return BlobBytes(source: .file(self, range))
    }
}
