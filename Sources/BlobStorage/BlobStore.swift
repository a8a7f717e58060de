import Foundation

/// Keeps bytes under their SHA-256. What is under a digest never changes, so that a reader needs no lock; the caller has made sure that
/// the digest is the file's.
public protocol BlobStore: Sendable {
    /// Keeps a file's bytes, all or none; does nothing when as many are there under their digest. The file is not changed afterwards by anyone.
    /// - Throws: ``BlobError``.
    func put(_ file: URL, as digest: BlobDigest) async throws

    /// How many bytes are under a digest; nil when none are.
    /// - Throws: ``BlobError``.
    func size(of digest: BlobDigest) async throws -> Int64?

    /// The bytes of a range, as they are read.
    /// - Throws: ``BlobError`` `notFound` or `invalidRange`.
    func bytes(of digest: BlobDigest, in range: Range<Int64>) async throws -> BlobBytes

    /// Forgets what is under a digest; nothing happens when nothing is. Reading that is under way may go on.
    /// - Throws: ``BlobError``.
    func remove(_ digest: BlobDigest) async throws

    /// An address where anyone can read the bytes for a while without asking this process; nil when the place has none to give.
    func address(of digest: BlobDigest, seconds: Int) -> String?
}
