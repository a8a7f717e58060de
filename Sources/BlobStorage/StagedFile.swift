import Crypto
import Foundation
import Glibc
import Synchronization

/// A file that arrives in parts and is hashed as it arrives. Its length is the number of bytes that have arrived, even
/// after the process was killed.
///
/// Only one sender writes at a time: a sender that begins later takes over, and the next write of the earlier sender is
/// refused.
public final class StagedFile: Sendable {
    private struct State {
        var descriptor: Int32
        var length: Int64
        var hash: SHA256
        /// The turn of the sender that may write.
        var turn = 0
    }

    /// The file's location.
    public let url: URL
    private let state: Mutex<State>

    /// Opens a file, or creates it with mode 0600, and hashes the bytes that it already holds. Waits for the disk.
    /// - Throws: ``BlobError``.
    public static func open(_ url: URL) async throws -> StagedFile {
        try await BlobThreads.run { try StagedFile(url) }
    }

    private init(_ url: URL) throws {
        self.url = url
        let descriptor = Glibc.open(url.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw BlobError(.unavailable, "\(url.path) cannot be written: \(String(cString: strerror(errno))).")
        }
        var hash = SHA256()
        var length: Int64 = 0
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(length)) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                close(descriptor)
                throw BlobError(.unavailable, "\(url.path) cannot be read.")
            }
            if count == 0 { break }
            piece.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            length += Int64(count)
        }
        state = Mutex(State(descriptor: descriptor, length: length, hash: hash))
    }

    deinit { state.withLock { _ = close($0.descriptor) } }

    /// The number of bytes that have arrived.
    public var length: Int64 { state.withLock { $0.length } }

    /// The SHA-256 of the bytes that have arrived.
    public var digest: BlobDigest { state.withLock { BlobDigest($0.hash.finalize()) } }

    /// Takes over the turn to write.
    /// - Returns: the turn, and the offset at which to continue.
    public func begin() -> (turn: Int, offset: Int64) {
        state.withLock {
            $0.turn += 1
            return ($0.turn, $0.length)
        }
    }

    /// Appends bytes to the file.
    /// - Returns: false when another sender has the turn now; nothing was written then.
    /// - Throws: ``BlobError``, with the code `full` among others. Bytes that were only written in part are cut off
    ///   again.
    public func append(_ bytes: some Sequence<UInt8> & Sendable, turn: Int) async throws -> Bool {
        try await BlobThreads.run { [self] in
            if let written = try bytes.withContiguousStorageIfAvailable({ try write(UnsafeRawBufferPointer($0), turn) })
            {
                return written
            }
            return try Array(bytes).withUnsafeBytes { try write($0, turn) }
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ turn: Int) throws -> Bool {
        try state.withLock { state in
            guard state.turn == turn else { return false }
            var written = 0
            while written < bytes.count {
                let count = pwrite(
                    state.descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written,
                    off_t(state.length) + written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    let reason = errno
                    ftruncate(state.descriptor, off_t(state.length))
                    throw BlobError(
                        reason == ENOSPC || reason == EDQUOT ? .full : .unavailable,
                        "The upload cannot be written: \(String(cString: strerror(reason))).")
                }
                written += count
            }
            state.hash.update(bufferPointer: bytes)
            state.length += Int64(bytes.count)
            return true
        }
    }
}
