import BlobStorage
import Crypto
import Foundation

/// Copies content from one place to another, and trusts neither: what arrives is hashed.
struct ContentCopy {
    let source: any BlobStore
    let target: any BlobStore
    /// Where a file is put together.
    let staging: URL

    /// Copies what the target does not have, or not as it was.
    /// - Returns: whether the target had nothing of it.
    /// - Throws: ``MerchantServerError`` `badBackup` when the bytes are not those of the digest; ``BlobError``.
    func copy(_ content: BackupManifest.Content) async throws -> Bool {
        guard let digest = BlobDigest(content.sha256) else {
            throw MerchantServerError(.badBackup, "“\(content.sha256.prefix(80))” is no SHA-256.")
        }
        let known = try await target.size(of: digest)
        if known == content.size, try await isWhole(digest, content.size) { return false }
        // More bytes than there were are as wrong as other ones.
        guard try await source.size(of: digest) == content.size else { throw Self.damaged(digest) }
        let url = staging.appendingPathComponent(content.sha256)
        defer { try? FileManager.default.removeItem(at: url) }
        let file = try await StagedFile.open(url)
        let turn = file.begin().turn
        // A bucket gives no empty range.
        if content.size > 0 {
            do {
                for try await piece in try await source.bytes(of: digest, in: 0..<content.size) {
                    _ = try await file.append(piece.readableBytesView, turn: turn)
                }
            } catch let error as BlobError where [.notFound, .invalidRange].contains(error.code) {
                throw Self.damaged(digest)
            }
        }
        guard file.digest == digest else { throw Self.damaged(digest) }
        // A file of the right length would be taken for the right one.
        if known == content.size { try await target.remove(digest) }
        try await target.put(url, as: digest)
        return known == nil
    }

    /// Whether the target's bytes are those of the digest.
    private func isWhole(_ digest: BlobDigest, _ size: Int64) async throws -> Bool {
        var hash = SHA256()
        if size > 0 {
            for try await piece in try await target.bytes(of: digest, in: 0..<size) {
                piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            }
        }
        return BlobDigest(hash.finalize()) == digest
    }

    private static func damaged(_ digest: BlobDigest) -> MerchantServerError {
        MerchantServerError(.badBackup, "The content file \(digest) is not there, or not as it was.")
    }
}
