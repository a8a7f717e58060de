import Backups
import BlobStorage
import Foundation
import Glibc
import ServerSupport
import Store

extension StoreBackup {
    /// A step of a restore, by name. Crash tests kill the process at these.
    package enum RestoreStep: String, Sendable, CaseIterable {
        /// The databases are complete beside the store's.
        case loaded = "store-restore-loaded"
        /// Their ledgers are whole. Only content was added to the store's.
        case proved = "store-restore-proved"
        /// The files of the backup are certain to replace the store's. On SQLite these are the databases too.
        case filed = "store-restore-filed"
        /// Everything is in place. The old schemas may still be beside the new ones.
        case swapped = "store-restore-swapped"
    }

    /// Called at each step, for crash tests.
    @TaskLocal package static var onStep: (@Sendable (RestoreStep) -> Void)?

    /// Replaces the store's data by a backup, all of it or nothing, once it is complete and its ledgers are whole.
    ///
    /// The keys in files and the schemas of a PostgreSQL store without a store key are two places. If the process is
    /// killed between them, the old keys are still in the data directory, and the next start puts them back.
    /// - Parameter replaces: whether existing data may be replaced.
    /// - Throws: `BackupError` `badBackup`, `notEmpty`, `inUse`, `storage`, `noTools`; a database's error, `BlobError`;
    ///   `StoreSecretsError` when the store key is missing or does not open the backup's secrets, or when a key is
    ///   given and no secret is sealed.
    public func restore(from folder: URL, replaces: Bool) async throws -> BackupReport {
        let restores = data.appendingPathComponent(StoreFiles.restoreFolder)
        let manifest = try await StoreBackupManifest.read(folder, on: engine, outside: restores)
        try FileManager.default.createDirectory(
            at: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let server = try lockServer()
        defer { server.release() }
        let commands = try lockFolder(.exclusive)
        defer { commands.release() }
        try StoreFiles.finish(in: data)
        if let url = configuration.databaseURL { try await endReplacement(try PostgreSQLTools(url: url)) }
        if !replaces {
            let authority = data.appendingPathComponent(StoreFiles.authority)
            let apps = StorePlace.file("apps", in: data.appendingPathComponent(StoreFiles.databases))
            for file in engine == .sqlite ? [apps, authority] : manifest.keys.isEmpty ? [] : [authority]
            where FileManager.default.fileExists(atPath: file.path) {
                throw Self.notEmpty(file.path)
            }
        }
        try FileManager.default.createDirectory(
            at: restores, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let staging = try StagingFolder(in: restores)
        // Keep the folder locked while it is used.
        defer {
            withExtendedLifetime(staging) {}
            try? FileManager.default.removeItem(at: staging.url)
            // The folder stays when another restore uses it.
            unlink(restores.appendingPathComponent(StagingFolder.lockName).path)
            rmdir(restores.path)
        }
        let new = staging.url.appendingPathComponent("new")
        try await copyKeys(of: manifest, from: folder, to: new)
        if let url = configuration.databaseURL {
            let place = StorePlace(.postgresql(url: url, schemaPrefix: configuration.schemaPrefix))
            do {
                try await place.whileAlone(logger: logger) {
                    try await restore(manifest, from: folder, place, url, staging.url, new, replaces: replaces)
                }
            } catch let error as DatabasesInUse {
                throw BackupError(
                    .inUse,
                    "A store uses the schemas \(configuration.schemaPrefix)_…: \(error.owner). Stop all of its processes first."
                )
            }
        } else {
            try await restore(manifest, from: folder, staging.url, new)
        }
        return BackupReport(data, manifest, manifest.content)
    }

    private static func notEmpty(_ what: String) -> BackupError {
        BackupError(
            .notEmpty,
            "\(what) exists already. Restore into an empty place, or give --replace to overwrite the existing data.")
    }

    /// Takes the server's lock.
    private func lockServer() throws -> DirectoryLock {
        do { return try DirectoryLock(data) } catch .unwritable {
            throw BackupError(
                .unusable, "The data directory \(data.path) cannot be written. Choose another with --data.")
        } catch {
            throw BackupError(
                .inUse,
                "The data directory \(data.path) is in use by another cornerstore\(error.owner). Stop it, or choose another directory with --data."
            )
        }
    }

    /// Copies the files with keys into an assembled folder.
    private func copyKeys(of manifest: StoreBackupManifest, from folder: URL, to new: URL) async throws {
        try FileManager.default.createDirectory(
            at: new, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in manifest.keys {
            let target = new.appendingPathComponent(file.name)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            _ = try SecretFile.create(target, try SecretFile.readPublic(folder.appendingPathComponent(file.name)))
        }
        let authority = new.appendingPathComponent(StoreFiles.authority)
        if FileManager.default.fileExists(atPath: authority.path) { try BackupFolder.flush(authority) }
    }

    // MARK: SQLite

    private func restore(
        _ manifest: StoreBackupManifest, from folder: URL, _ staging: URL, _ new: URL
    ) async throws {
        let databases = new.appendingPathComponent(StoreFiles.databases)
        try FileManager.default.createDirectory(
            at: databases, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in manifest.databases {
            let target = databases.appendingPathComponent(file.name)
            try await BlobThreads.run { [copy = folder.appendingPathComponent(file.name)] in
                do {
                    try FileManager.default.copyItem(at: copy, to: target)
                } catch {
                    throw BackupError(.storage, "\(target.path) cannot be written. Is the disk full?")
                }
            }
            guard chmod(target.path, 0o600) == 0 else {
                throw BackupError(.storage, "\(target.path) cannot be made private.")
            }
        }
        try await StorePlace.check(databases)
        Self.onStep?(.loaded)
        let content = try await prove(StorePlace(.folder(databases)), manifest)
        var added: [BlobDigest] = []
        do {
            try await put(content, manifest, from: folder, staging, &added)
            Self.onStep?(.proved)
            for name in try FileManager.default.contentsOfDirectory(atPath: databases.path) {
                try BackupFolder.flush(databases.appendingPathComponent(name))
            }
            try BackupFolder.flush(databases)
            var isCertain = false
            do {
                try StoreFiles.replace(in: data, by: new) {
                    isCertain = true
                    Self.onStep?(.filed)
                }
            } catch  where isCertain {
                // The databases name the content from now on.
                added = []
                throw error
            }
            Self.onStep?(.swapped)
        } catch {
            for digest in added { try? await blobs.remove(digest) }
            throw error
        }
    }

    // MARK: PostgreSQL

    private func restore(
        _ manifest: StoreBackupManifest, from folder: URL, _ place: StorePlace, _ url: String, _ staging: URL,
        _ new: URL, replaces: Bool
    ) async throws {
        guard let origin = manifest.schemaPrefix else {
            throw BackupError(.badBackup, "\(folder.path) does not name the schemas that it was made from.")
        }
        let tools = try PostgreSQLTools(url: url)
        if !replaces {
            for schema in place.schemas where try await !tools.isEmpty(schema) {
                throw Self.notEmpty("The schema \(schema)")
            }
        }
        let prefix = configuration.schemaPrefix
        let aside = "\(prefix.prefix(30))_restored_\(UInt32.random(in: 0..<(.max)))"
        let replacements = StorePlace.names.map { name in
            PostgreSQLTools.Replacement(
                of: "\(prefix)_\(name)", by: "\(aside)_\(name)", from: "\(origin)_\(name)")
        }
        // The schema's name, because no merchant has one of this name.
        let owner = "\(prefix)_apps"
        do {
            // Schemas of an earlier restore that was killed.
            try await tools.removeLeftovers(of: owner)
            try await tools.load(
                folder.appendingPathComponent(manifest.databases[0].name), replacements, owner: owner)
            Self.onStep?(.loaded)
            let content = try await prove(StorePlace(.postgresql(url: url, schemaPrefix: aside)), manifest)
            for replacement in replacements {
                let strangers = try await tools.strangers(in: replacement)
                guard strangers.isEmpty else {
                    throw BackupError(
                        .notEmpty,
                        "The schema \(replacement.schema) contains or is used by objects that are not the store's and would be lost: "
                            + strangers.joined(separator: ", ")
                            + ". Move them away, or restore under another --schema-prefix.")
                }
            }
            // Other stores may use the same bucket, so the content stays if the restore fails.
            var added: [BlobDigest] = []
            try await put(content, manifest, from: folder, staging, &added)
            for schema in place.schemas { try await tools.checkNobodyUses(schema) }
            Self.onStep?(.proved)
            if !manifest.keys.isEmpty {
                guard let number = try await tools.number(of: "\(aside)_apps") else {
                    throw BackupError(.storage, "The schema \(aside)_apps was removed during the restore.")
                }
                try ReplacedKeys.replace(in: data, by: new, staging: staging, schema: number)
            }
            Self.onStep?(.filed)
            // The old processes' numbers, and what they announced, belong to the old databases.
            try await tools.swap(in: replacements, owner: owner, removing: ["\(prefix)_processes"])
        } catch {
            do { try await endReplacement(tools) } catch {
                logger.error(
                    "the replaced keys stay in the data directory; the next start will try again",
                    metadata: ["error": "\(error)"])
            }
            try? await tools.removeLeftovers(of: owner)
            throw error
        }
        Self.onStep?(.swapped)
        do {
            try await endReplacement(tools)
            try await tools.removeLeftovers(of: owner)
        } catch {
            logger.error(
                "the replaced schemas and keys cannot be removed; the next restore will try again",
                metadata: ["error": "\(error)"])
        }
    }

    /// Ends the replacement of files with keys, of this restore or of one that was killed.
    private func endReplacement(_ tools: PostgreSQLTools) async throws {
        let schema = "\(configuration.schemaPrefix)_apps"
        try await ReplacedKeys.end(in: data) { try await tools.number(of: schema) }
    }

    // MARK: Both

    /// Checks that the ledgers of loaded databases are whole, and that the manifest lists their content.
    /// - Returns: the content that the databases name.
    private func prove(_ place: StorePlace, _ manifest: StoreBackupManifest) async throws -> [BackupContent] {
        let proof = try await place.prove(
            key: engine == .postgresql ? configuration.storeKey : nil, logger: logger)
        if let problem = proof.problem {
            throw BackupError(.badBackup, "The ledgers of the backup are not whole: \(problem)")
        }
        guard engine == .sqlite || configuration.storeKey != nil || !manifest.keys.isEmpty else {
            throw BackupError(.badBackup, "The backup is damaged: its databases need files with keys, and it has none.")
        }
        let named = proof.content.map(BackupContent.init)
        guard Set(named).isSubset(of: manifest.content) else {
            throw BackupError(
                .badBackup, "The backup is damaged: its databases name content that its list does not.")
        }
        return named
    }

    /// Puts content in place.
    /// - Parameter added: receives the content that the storage did not have.
    private func put(
        _ content: [BackupContent], _ manifest: StoreBackupManifest, from folder: URL, _ staging: URL,
        _ added: inout [BlobDigest]
    ) async throws {
        if manifest.hasContent {
            let source = try DirectoryBlobStore(
                folder: folder.appendingPathComponent(Self.contentFolder), makesFolder: false)
            let copying = ContentCopy(source: source, target: blobs, staging: staging)
            for file in content where try await copying.copy(file) {
                added += [BlobDigest(file.sha256)].compactMap { $0 }
            }
        }
        for file in content {
            guard let digest = BlobDigest(file.sha256), try await blobs.size(of: digest) == file.size else {
                throw BackupError(
                    .badBackup, "The content file \(file.sha256) is neither in the backup nor in content storage.")
            }
        }
    }
}
