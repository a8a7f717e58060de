import Foundation

/// Storage that keeps blobs under their SHA-256. The bytes under a digest never change, so that a reader needs no lock.
/// The caller must make sure that the digest is the file's.
public protocol BlobStore: Sendable {
    /// Stores a file's bytes, all or none. Does nothing when the store already holds as many bytes under the digest.
    /// Nobody may change the file afterwards.
    /// - Throws: ``BlobError``.
    func put(_ file: URL, as digest: BlobDigest) async throws

    /// The size of the blob in bytes; nil when the store does not hold it.
    /// - Throws: ``BlobError``.
    func size(of digest: BlobDigest) async throws -> Int64?

    /// The bytes of a range of the blob.
    /// - Throws: ``BlobError`` `notFound` or `invalidRange`.
    func bytes(of digest: BlobDigest, in range: Range<Int64>) async throws -> BlobBytes

    /// Removes the blob. Does nothing when the store does not hold it. A read that is under way may continue.
    /// - Throws: ``BlobError``.
    func remove(_ digest: BlobDigest) async throws

    /// An address where anyone can read the blob for so many seconds without asking this process; nil when the storage
    /// has no such addresses.
    func address(of digest: BlobDigest, seconds: Int) -> String?
}
