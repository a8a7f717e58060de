import Foundation

/// A plain file that several threads can read at any offset at once.
final class ReadableFile: Sendable {
    /// The path, for errors.
    let path: String
    /// The file's size in bytes when it was opened.
    let length: Int64
    private let descriptor: Int32

    /// - Parameter followsLink: whether `path` may be a symbolic link to the file.
    /// - Throws: ``ContentPackageError`` when the file does not exist, cannot be read or is not a plain file.
    init(_ path: String, followsLink: Bool = true) throws {
        // Without O_NONBLOCK, opening a pipe would wait for its writer.
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (followsLink ? 0 : O_NOFOLLOW))
        guard opened >= 0 else { throw ContentPackageError.reading(path) }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw ContentPackageError(.unreadable, "\(path) is not a plain file.")
        }
        self.path = path
        length = Int64(status.st_size)
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Fills the buffer from an offset. Reads fewer bytes only at the end of the file.
    /// - Returns: the number of bytes that were read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
        try Self.read(descriptor, path, into: buffer, at: offset)
    }

    /// Fills the buffer from an offset of an open file. Reads fewer bytes only at the end of the file.
    static func read(
        _ descriptor: Int32, _ path: String, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws -> Int {
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

    /// Reads bytes from an offset. Returns fewer only at the end of the file.
    func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
    }
}
