import Backups
import BlobStorage
import Foundation
import Logging
import ServerSupport
import Store

/// A copy of all of a store's data, made while the server runs: a snapshot of the databases, the content that they
/// name, and the keys of a store that keeps them in files. The keys of a store with a store key are in the snapshot,
/// sealed; the store key itself is in no backup.
public struct StoreBackup: Sendable {
    let configuration: StoreServerConfiguration
    let blobs: any BlobStore
    let now: @Sendable () -> Date
    let logger: Logger

    /// Creates a backup of the store that a configuration describes. Only its data directory, database, bucket and key
    /// are used.
    /// - Parameter now: the machine's clock.
    /// - Throws: `BlobError`.
    public init(
        of configuration: StoreServerConfiguration, now: @escaping @Sendable () -> Date, logger: Logger
    ) throws {
        self.configuration = configuration
        // Do not create the folder: it would look as if a server stored its content there.
        if let bucket = configuration.bucket {
            blobs = S3BlobStore(bucket, now: now)
        } else {
            let own = configuration.dataDirectory.appendingPathComponent(StoreFiles.content)
            blobs = try DirectoryBlobStore(folder: configuration.sharedBlobs ?? own, makesFolder: false)
        }
        self.now = now
        self.logger = logger
    }

    var data: URL { configuration.dataDirectory }
    var engine: BackupEngine { configuration.databaseURL == nil ? .sqlite : .postgresql }

    /// Makes a backup. The folder appears whole or not at all.
    /// - Parameters:
    ///   - folder: the folder to create; it may exist if it is empty.
    ///   - withContent: false for a store whose bucket is backed up separately.
    /// - Throws: `BackupError` `storage`, `inUse`, `noTools`; a database's error, `BlobError`; `StoreSecretsError`
    ///   unless the key is that of the secrets on PostgreSQL, or no secret is sealed and there is no key.
    public func make(at folder: URL, withContent: Bool) async throws -> BackupReport {
        let manifest = try await BackupFolder.create(folder) { staging in
            // Keep a restore from replacing the files during the copy. Take this lock after the staging folder is
            // created: that locks the parent folder for a moment, and the parent may be the data directory itself.
            let isThere = FileManager.default.fileExists(atPath: data.path)
            let hasKeys = engine == .sqlite || configuration.storeKey == nil && isThere
            let lock = hasKeys ? try lockFolder(.shared) : nil
            defer { lock?.release() }
            return try await fill(staging, withContent)
        }
        return BackupReport(folder, manifest, manifest.content)
    }

    private func fill(_ folder: URL, _ withContent: Bool) async throws -> StoreBackupManifest {
        guard let url = configuration.databaseURL else {
            return try await collect(into: folder, try await copyDatabases(into: folder), withContent)
        }
        let place = StorePlace(.postgresql(url: url, schemaPrefix: configuration.schemaPrefix))
        let tools = try PostgreSQLTools(url: url)
        guard try await !tools.isEmpty(place.schemas[0]) else {
            throw BackupError(
                .storage,
                "There is no store under the prefix \(configuration.schemaPrefix). Name its --database and --schema-prefix."
            )
        }
        try await place.check(key: configuration.storeKey, logger: logger)
        guard withContent else {
            return try await collect(into: folder, try await dump(place, tools, into: folder), withContent)
        }
        return try await place.withClaims(now: StoreApplication.milliseconds(now), logger: logger) { claims in
            try await whileContentStays(claims) {
                try await collect(into: folder, try await dump(place, tools, into: folder), withContent)
            }
        }
    }

    /// Keeps the processes of the store from deleting unused content. A store of one process deletes it nevertheless.
    private func whileContentStays(
        _ claims: Claims, _ body: () async throws -> StoreBackupManifest
    ) async throws -> StoreBackupManifest {
        let deadline = ContinuousClock.now + Self.longestWait
        while try await !claims.take(ContentLibrary.blobsClaim, seconds: Self.claimSeconds) {
            guard ContinuousClock.now < deadline else {
                throw BackupError(.inUse, "Another command backs up this store. Run the command again later.")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        let claim = KeptClaim(claims, ContentLibrary.blobsClaim, seconds: Self.claimSeconds)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await claim.keep() }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// How long a backup that ended without a release keeps unused content, in seconds.
    private static let claimSeconds: Int64 = 60
    /// How long a backup waits until no process deletes content. This is longer than a killed process keeps its claim.
    private static let longestWait = Duration.seconds(90)

    /// Copies keys and content beside the copies of the databases, and writes the list of all.
    private func collect(
        into folder: URL, _ dated: (begunAt: Int64, content: [BackupContent]), _ withContent: Bool
    ) async throws -> StoreBackupManifest {
        let (begunAt, content) = dated
        var databases: [BackupFile] = []
        for name in engine.fileNames {
            guard let file = try await BackupFile.of(folder, name) else {
                throw BackupError(.storage, "\(folder.appendingPathComponent(name).path) cannot be read.")
            }
            databases.append(file)
        }
        let keys = try await copyKeys(into: folder)
        if withContent {
            do { try await copy(content, into: folder) } catch let error as BackupError where error.code == .badBackup {
                throw BackupError(
                    error.code, "\(error.detail) It may have been removed during the backup. Run the command again.")
            }
        }
        let manifest = StoreBackupManifest(
            begunAt: begunAt, engine: engine,
            schemaPrefix: engine == .postgresql ? configuration.schemaPrefix : nil, databases: databases, keys: keys,
            content: content, hasContent: withContent)
        try manifest.write(into: folder)
        try BackupFolder.flush(folder)
        return manifest
    }

    private var milliseconds: Int64 { StoreApplication.milliseconds(now)() }

    /// Dumps the schemas of PostgreSQL in one snapshot.
    /// - Returns: when the dump began, and the content that the tables named before or after the snapshot.
    private func dump(
        _ place: StorePlace, _ tools: PostgreSQLTools, into folder: URL
    ) async throws -> (begunAt: Int64, content: [BackupContent]) {
        let begunAt = milliseconds
        let before = Set(try await place.content(logger: logger).map(BackupContent.init))
        // No process of a restored store holds the claims of this one, of which the backup's own is one.
        try await tools.dump(
            place.schemas, emptied: place.claims, into: folder.appendingPathComponent(engine.fileNames[0]))
        let after = Set(try await place.content(logger: logger).map(BackupContent.init))
        // The store may have been started with its first key meanwhile.
        try await place.check(key: configuration.storeKey, logger: logger)
        return (begunAt, Self.sorted(before.union(after)))
    }

    /// Copies the SQLite files.
    /// - Returns: when the copy began, and the content that the copies name.
    private func copyDatabases(into folder: URL) async throws -> (begunAt: Int64, content: [BackupContent]) {
        let begunAt = milliseconds
        let databases = data.appendingPathComponent(StoreFiles.databases)
        try checkFinished()
        for name in StorePlace.names {
            guard FileManager.default.fileExists(atPath: StorePlace.file(name, in: databases).path) else {
                throw BackupError(.storage, "There is no store in \(data.path). Name its data directory with --data.")
            }
        }
        try await StorePlace.copy(databases, to: folder)
        // Opening a database writes to it, so the list is read from another copy.
        let reading = folder.appendingPathComponent("reading")
        try FileManager.default.createDirectory(
            at: reading, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: reading) }
        try FileManager.default.copyItem(
            at: StorePlace.file("apps", in: folder), to: StorePlace.file("apps", in: reading))
        let content = try await StorePlace(.folder(reading)).content(logger: logger)
        return (begunAt, Self.sorted(Set(content.map(BackupContent.init))))
    }

    private func checkFinished() throws {
        guard !StoreFiles.isUnfinished(data) else {
            throw BackupError(
                .storage, "A restore into \(data.path) was interrupted. Run it again, or start the server.")
        }
    }

    private static func sorted(_ content: Set<BackupContent>) -> [BackupContent] {
        content.sorted { $0.sha256 < $1.sha256 }
    }

    private func copyKeys(into folder: URL) async throws -> [BackupFile] {
        // They are in the databases, sealed: only a store with sealed secrets is dumped with a key.
        guard engine == .sqlite || configuration.storeKey == nil else { return [] }
        try checkFinished()
        guard FileManager.default.fileExists(atPath: data.appendingPathComponent(StoreFiles.authority).path) else {
            throw BackupError(
                .storage,
                "\(data.path) does not contain the keys of the store. Name its data directory with --data, or give the --store-key with which it "
                    + "was started.")
        }
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent(StoreFiles.authority), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        var keys: [BackupFile] = []
        for name in StoreFiles.keys(in: data) {
            let copy = folder.appendingPathComponent(name)
            _ = try SecretFile.create(copy, try SecretFile.read(data.appendingPathComponent(name)))
            guard let file = try await BackupFile.of(folder, name) else {
                throw BackupError(.storage, "\(copy.path) cannot be read.")
            }
            keys.append(file)
        }
        return keys
    }

    private func copy(_ content: [BackupContent], into folder: URL) async throws {
        let staging = folder.appendingPathComponent("staging")
        try FileManager.default.createDirectory(
            at: staging, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let target = try DirectoryBlobStore(folder: folder.appendingPathComponent(Self.contentFolder))
        let copying = ContentCopy(source: blobs, target: target, staging: staging)
        for file in content { _ = try await copying.copy(file) }
        try? FileManager.default.removeItem(at: staging)
    }

    /// The folder of the content in a backup.
    static let contentFolder = "content"

    /// Locks the data directory against restores and backups.
    /// - Throws: `BackupError` `inUse`, `unusable`.
    func lockFolder(_ kind: DirectoryLock.Kind) throws -> DirectoryLock {
        do { return try DirectoryLock(folder: data, kind) } catch .unwritable {
            throw BackupError(.unusable, "The data directory \(data.path) cannot be read. Name another with --data.")
        } catch {
            throw BackupError(.inUse, "Another command backs up or restores \(data.path). Wait until it has ended.")
        }
    }
}

extension BackupContent {
    init(_ content: StoredContent) { self.init(sha256: content.digest.hexadecimal, size: content.size) }
}
