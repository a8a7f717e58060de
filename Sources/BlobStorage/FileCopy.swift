import Foundation
import NIOCore

/// A copy of a file that others may change, hashed while it was copied.
public struct FileCopy: Sendable, Equatable {
    /// The copy, which only its maker knows.
    public let url: URL
    /// The length in bytes.
    public let length: Int64
    /// The modification time of the original in nanoseconds since 1970.
    public let modified: Int64
    /// The SHA-256 of the copy.
    public let digest: BlobDigest

    /// Copies a file.
    /// - Parameters:
    ///   - source: the original.
    ///   - place: the location of the copy, where nothing may be. The folder must exist.
    ///   - room: called with the length of the original before the first byte is written. It throws when the disk has
    ///     no room for so many bytes.
    /// - Throws: ``BlobError`` `notFound` when there is no regular file, `refused` when it changes during the copying,
    ///   `full`, `unavailable`; and the error of `room`. Nothing is left at `place` then.
    public static func make(
        of source: URL, at place: URL, room: (Int64) throws -> Void
    ) async throws -> FileCopy {
        let original = try await BlobThreads.run { try BlobFile(source) }
        try room(original.size)
        do {
            let staged = try await StagedFile.open(place)
            let (turn, offset) = staged.begin()
            guard offset == 0 else { throw BlobError(.refused, "\(place.path) exists already.") }
            for try await piece in try original.bytes(in: 0..<original.size) {
                guard try await staged.append(piece.readableBytesView, turn: turn) else {
                    throw BlobError(.refused, "Another task writes to \(place.path).")
                }
            }
            let now = try await BlobThreads.run { try BlobFile(source) }
            guard now.size == original.size, now.modified == original.modified else {
                throw BlobError(.refused, "The file was changed while it was read. Try again when it is complete.")
            }
            return FileCopy(url: place, length: original.size, modified: original.modified, digest: staged.digest)
        } catch {
            unlink(place.path)
            throw error
        }
    }
}
