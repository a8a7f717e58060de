import BlobStorage
import Crypto
import Foundation

/// Copies content from one store to another, and trusts neither: the bytes are hashed on arrival.
package struct ContentCopy: Sendable {
    private let source: any BlobStore
    private let target: any BlobStore
    /// The folder in which a file is assembled.
    private let staging: URL

    /// - Parameter staging: an existing folder in which a file is assembled.
    package init(source: any BlobStore, target: any BlobStore, staging: URL) {
        self.source = source
        self.target = target
        self.staging = staging
    }

    /// Copies content that the target lacks or has damaged.
    /// - Returns: whether the target had nothing under the digest.
    /// - Throws: ``BackupError`` `badBackup` when the bytes do not match the digest; ``BlobError``.
    package func copy(_ content: BackupContent) async throws -> Bool {
        guard let digest = BlobDigest(content.sha256) else {
            throw BackupError(.badBackup, "“\(content.sha256.prefix(80))” is not a SHA-256.")
        }
        let known = try await target.size(of: digest)
        if known == content.size, try await isWhole(digest, content.size) { return false }
        // Additional bytes are as wrong as different ones.
        guard try await source.size(of: digest) == content.size else { throw Self.damaged(digest) }
        let url = staging.appendingPathComponent(content.sha256)
        defer { try? FileManager.default.removeItem(at: url) }
        let file = try await StagedFile.open(url)
        let turn = file.begin().turn
        // A bucket does not serve an empty range.
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
        // The store would keep an existing file of the right length.
        if known == content.size { try await target.remove(digest) }
        try await target.put(url, as: digest)
        return known == nil
    }

    /// Whether the target's bytes match the digest.
    private func isWhole(_ digest: BlobDigest, _ size: Int64) async throws -> Bool {
        var hash = SHA256()
        if size > 0 {
            for try await piece in try await target.bytes(of: digest, in: 0..<size) {
                piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
            }
        }
        return BlobDigest(hash.finalize()) == digest
    }

    private static func damaged(_ digest: BlobDigest) -> BackupError {
        BackupError(.badBackup, "The content file \(digest) is missing or damaged.")
    }
}
