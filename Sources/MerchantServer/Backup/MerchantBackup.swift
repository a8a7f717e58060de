import Backups
import BlobStorage
import Foundation
import Logging
import Merchant

/// A copy of all of a merchant's data, made while the server runs: a snapshot of the database, the content that it
/// names, and the keys of users' tokens. Content never changes under its digest, so it is copied after the database.
public struct MerchantBackup: Sendable {
    let place: MerchantPlace
    let blobs: any BlobStore
    let now: @Sendable () -> Date
    let logger: Logger

    /// Creates a backup of a merchant's place.
    /// - Parameters:
    ///   - bucket: the bucket in which the merchant stores content; nil for the folder in its data directory.
    ///   - now: the machine's clock.
    /// - Throws: ``BlobError``.
    public init(
        of place: MerchantPlace, bucket: S3Location?, now: @escaping @Sendable () -> Date, logger: Logger
    ) throws {
        self.place = place
        // Do not create the folder: it would look as if a server stored its content there.
        blobs = try place.blobs(bucket, makesFolder: false, now: now)
        self.now = now
        self.logger = logger
    }

    var engine: BackupEngine { place.databaseURL == nil ? .sqlite : .postgresql }

    /// Makes a backup. The folder appears whole or not at all.
    /// - Parameters:
    ///   - folder: the folder to create; it may exist if it is empty.
    ///   - withContent: false for a merchant whose bucket is backed up separately.
    /// - Throws: ``MerchantServerError`` `storage`, `noTools`; ``DatabaseError``, ``BlobError``.
    public func make(at folder: URL, withContent: Bool) async throws -> BackupReport {
        let manifest = try await MerchantServerError.awaiting {
            try await BackupFolder.create(folder) { staging in
                // Keep a restore from replacing the database during the copy. Take this lock after the staging folder
                // is created: that locks the parent folder for a moment, and the parent may be the data directory
                // itself.
                let lock = try place.lockForCommands(.shared)
                defer { lock?.release() }
                return try await fill(staging, withContent)
            }
        }
        return BackupReport(folder, manifest, manifest.content)
    }

    private func fill(_ folder: URL, _ withContent: Bool) async throws -> BackupManifest {
        let begunAt = Int64(now().timeIntervalSince1970 * 1_000)
        let copy = folder.appendingPathComponent(engine.fileName)
        if let url = place.databaseURL {
            try await PostgreSQLTools(url: url, schema: place.schema).dump(into: copy)
        } else {
            guard FileManager.default.fileExists(atPath: place.databaseFile.path) else {
                throw MerchantServerError(
                    .storage, "There is no merchant in \(place.folder.path). Name its data directory with --data.")
            }
            try await place.copyDatabase(to: copy)
        }
        guard let database = try await BackupFile.of(folder, engine.fileName) else {
            throw MerchantServerError(.storage, "\(copy.path) cannot be read.")
        }
        let keys = try await copyKeys(into: folder)
        // Versions are only ever added. So these include all versions that the copied database names, and those that
        // were added since.
        let (blobs, items) = try await place.withMerchant(logger: logger) { merchant in
            (try await merchant.contentBlobs(), withContent ? try await merchant.contentList().items : [])
        }
        try await MerchantPlace.check(items, areIn: self.blobs)
        let content = blobs.map { BackupContent(sha256: $0.digest, size: $0.size) }
        if withContent { try await self.copy(content, into: folder) }
        let manifest = BackupManifest(
            begunAt: begunAt, engine: engine, schema: place.databaseURL == nil ? nil : place.schema, database: database,
            keys: keys, content: content, hasContent: withContent)
        try manifest.write(into: folder)
        try BackupFolder.flush(folder)
        return manifest
    }

    private func copy(_ content: [BackupContent], into folder: URL) async throws {
        let staging = folder.appendingPathComponent("staging")
        try FileManager.default.createDirectory(
            at: staging, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let target = try DirectoryBlobStore(folder: folder.appendingPathComponent(MerchantPlace.contentFolder))
        let copying = ContentCopy(source: blobs, target: target, staging: staging)
        for file in content { _ = try await copying.copy(file) }
        try? FileManager.default.removeItem(at: staging)
    }

    private func copyKeys(into folder: URL) async throws -> BackupFile? {
        let keys = place.folder.appendingPathComponent(TokenKeySet.fileName)
        guard FileManager.default.fileExists(atPath: keys.path) else { return nil }
        // Refuse the file as the server would. A file with public keys alone is not secret.
        _ = try await TokenKeySet.read(keys)
        _ = try SecretFile.create(folder.appendingPathComponent(TokenKeySet.fileName), try SecretFile.readPublic(keys))
        return try await BackupFile.of(folder, TokenKeySet.fileName)
    }
}
