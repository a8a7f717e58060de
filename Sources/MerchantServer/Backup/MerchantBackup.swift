import BlobStorage
import Database
import Foundation
import Glibc
import Logging
import Merchant

/// A copy of all that a merchant has, made while it works: the database as it stood at one moment, the content that it names, and the keys of users'
/// tokens. Content never changes under its digest, so it is copied after the database.
public struct MerchantBackup: Sendable {
    /// What was made, or restored.
    public struct Report: Encodable, Sendable {
        public var directory: String
        public var engine: String
        public var databaseBytes: Int64
        public var contentFiles: Int
        public var contentBytes: Int64
        /// Whether the bytes of the content are in the backup.
        public var hasContent: Bool
    }

    let place: MerchantPlace
    let blobs: any BlobStore
    let now: @Sendable () -> Date
    let logger: Logger

    /// - Parameters:
    ///   - bucket: where the merchant keeps content; nil for the folder in its data directory.
    ///   - now: the machine's clock.
    public init(
        of place: MerchantPlace, bucket: S3Location?, now: @escaping @Sendable () -> Date, logger: Logger
    ) throws {
        self.place = place
        // A folder that is made here would look as if a server kept its content there.
        blobs = try place.blobs(bucket, makesFolder: false, now: now)
        self.now = now
        self.logger = logger
    }

    var engine: BackupManifest.Engine { place.databaseURL == nil ? .sqlite : .postgresql }

    /// Makes a backup; the folder is there whole or not at all.
    /// - Parameters:
    ///   - folder: is made; it may be there and empty.
    ///   - withContent: false for a merchant whose bucket is kept safe by itself.
    /// - Throws: ``MerchantServerError`` `storage`, `noTools`; ``DatabaseError``, ``BlobError``.
    public func make(at folder: URL, withContent: Bool) async throws -> Report {
        let known = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        guard known == [] || known == nil && !FileManager.default.fileExists(atPath: folder.path) else {
            throw MerchantServerError(.storage, "\(folder.path) is there already. Name a folder that is not.")
        }
        let staging: StagingFolder
        do {
            let parent = folder.deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            staging = try StagingFolder(
                beside: parent, name: ".\(folder.lastPathComponent).\(UUID().uuidString).new", where: Self.isLeft)
        } catch {
            throw MerchantServerError(.storage, "\(folder.path) cannot be made.")
        }
        // Locked as long as it is filled.
        defer { withExtendedLifetime(staging) {} }
        // A restore would put another database in the place of the one that is copied. Taken after the staging folder, which may be in the same one.
        let lock = try place.lockForCommands(.shared)
        defer { lock?.release() }
        let report = try await fill(staging.url, withContent)
        guard rename(staging.url.path, folder.path) == 0 else {
            throw MerchantServerError(.storage, "\(folder.path) cannot be made: \(String(cString: strerror(errno))).")
        }
        try? Self.flush(folder.deletingLastPathComponent())
        return Report(
            directory: folder.path, engine: report.engine.rawValue, databaseBytes: report.database.size,
            contentFiles: report.content.count, contentBytes: report.content.reduce(0) { $0 + $1.size },
            hasContent: report.hasContent)
    }

    /// Whether a folder is one of a backup that was killed: a day ago, since of another machine's the lock may not be seen.
    private static func isLeft(_ folder: URL) -> Bool {
        let name = folder.lastPathComponent
        guard name.hasPrefix("."), name.hasSuffix(".new"), UUID(uuidString: String(name.dropLast(4).suffix(36))) != nil,
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path),
            let changed = attributes[.modificationDate] as? Date
        else { return false }
        return changed.timeIntervalSinceNow < -86_400
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
            try await SQLiteCopy.make(of: place.databaseFile.path, at: copy.path)
            try await SQLiteCopy.check(copy.path)
        }
        guard let database = try await BackupManifest.File.of(folder, engine.fileName) else {
            throw MerchantServerError(.storage, "\(copy.path) cannot be read.")
        }
        let keys = try await copyKeys(into: folder)
        // Versions are only ever added: these are all that the copy names, and those added meanwhile.
        let (blobs, items) = try await place.withMerchant(logger: logger) { merchant in
            (try await merchant.contentBlobs(), withContent ? try await merchant.contentList().items : [])
        }
        try await MerchantPlace.check(items, areIn: self.blobs)
        let content = blobs.map { BackupManifest.Content(sha256: $0.digest, size: $0.size) }
        if withContent { try await self.copy(content, into: folder) }
        let manifest = BackupManifest(
            begunAt: begunAt, engine: engine, schema: place.databaseURL == nil ? nil : place.schema, database: database,
            keys: keys, content: content, hasContent: withContent)
        try manifest.write(into: folder)
        try Self.flush(folder)
        return manifest
    }

    private func copy(_ content: [BackupManifest.Content], into folder: URL) async throws {
        let staging = folder.appendingPathComponent("staging")
        try FileManager.default.createDirectory(
            at: staging, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let target = try DirectoryBlobStore(folder: folder.appendingPathComponent(MerchantPlace.contentFolder))
        let copying = ContentCopy(source: blobs, target: target, staging: staging)
        for file in content { _ = try await copying.copy(file) }
        try? FileManager.default.removeItem(at: staging)
    }

    private func copyKeys(into folder: URL) async throws -> BackupManifest.File? {
        let keys = place.folder.appendingPathComponent(TokenKeySet.fileName)
        guard FileManager.default.fileExists(atPath: keys.path) else { return nil }
        // Refused as the server would refuse it: one with public keys alone is no secret.
        _ = try await TokenKeySet.read(keys)
        _ = try SecretFile.create(folder.appendingPathComponent(TokenKeySet.fileName), try SecretFile.readPublic(keys))
        return try await BackupManifest.File.of(folder, TokenKeySet.fileName)
    }

    /// Waits until a folder's names are on the disk.
    static func flush(_ folder: URL) throws {
        let descriptor = open(folder.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw MerchantServerError(.storage, "\(folder.path) cannot be read.") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw MerchantServerError(.storage, "\(folder.path) cannot be written.") }
    }
}
