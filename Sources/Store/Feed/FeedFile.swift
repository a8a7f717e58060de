import Foundation
import Glibc

/// A new file of a feed that is being built.
final class FeedFile {
    private let path: String
    private var descriptor: Int32

    /// Creates the file.
    /// - Throws: ``StoreError`` `unavailable`.
    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Appends bytes.
    /// - Throws: ``StoreError`` `unavailable`, such as for a full disk.
    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Closes the file, once it is on the disk if it has to last.
    func close(isDurable: Bool) throws {
        defer {
            Glibc.close(descriptor)
            descriptor = -1
        }
        guard !isDurable || fsync(descriptor) == 0 else { throw Self.failure(path) }
    }

    /// Writes a small file.
    static func write(_ bytes: some Collection<UInt8>, to path: String) throws {
        let file = try FeedFile(path)
        try Array(bytes).withUnsafeBytes { try file.write($0) }
        try file.close(isDurable: true)
    }

    /// Puts a folder's entries on the disk.
    static func flushFolder(_ path: String) throws {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure(path) }
        defer { Glibc.close(folder) }
        guard fsync(folder) == 0 else { throw failure(path) }
    }

    /// Creates a folder, mode 0700.
    static func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path) }
    }

    static func failure(_ path: String) -> StoreError {
        StoreError(
            .unavailable,
            "The feed's file \(path) cannot be used: \(String(cString: strerror(errno))). Make room or correct the "
                + "permissions, then build the feed again. The previous feed is still served.")
    }
}

/// Reads a file of a build piece by piece.
func readFeedFile(_ path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw FeedFile.failure(path) }
    defer { close(descriptor) }
    try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { piece in
        while true {
            let count = read(descriptor, piece.baseAddress, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FeedFile.failure(path) }
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
        }
    }
}
