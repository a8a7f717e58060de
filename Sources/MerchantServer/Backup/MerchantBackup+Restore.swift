import Backups
import BlobStorage
import Foundation
import Glibc
import HTTPSupport
import Merchant

extension MerchantBackup {
    /// A step of a restore, by name. Crash tests kill the process at these.
    package enum RestoreStep: String, Sendable, CaseIterable {
        /// The database is complete beside the merchant's place.
        case loaded = "restore-loaded"
        /// Its ledger balances. Only keys and content of the place have changed.
        case proved = "restore-proved"
        /// The database is in place. The old one may still be beside it.
        case swapped = "restore-swapped"
    }

    /// Called at each step, for crash tests.
    @TaskLocal package static var onStep: (@Sendable (RestoreStep) -> Void)?

    /// Replaces the merchant's data by a backup, all of it or nothing. The database comes last, when it and the content
    /// are complete and the ledger balances.
    /// - Parameter replaces: whether existing data may be replaced.
    /// - Throws: ``MerchantServerError`` `badBackup`, `notEmpty`, `dataDirectoryInUse`, `storage`, `noTools`;
    ///   ``DatabaseError``, ``BlobError``.
    public func restore(from folder: URL, replaces: Bool) async throws -> BackupReport {
        let restores = place.folder.appendingPathComponent(MerchantPlace.restoreFolder)
        let manifest = try await MerchantServerError.awaiting {
            try await BackupManifest.read(folder, on: engine, outside: restores)
        }
        let lock = try place.lock()
        defer { lock?.release() }
        let commands = try place.lockForCommands(.exclusive)
        defer { commands?.release() }
        let keys = place.folder.appendingPathComponent(TokenKeySet.fileName)
        // Identical keys are those of an earlier restore that was killed.
        if !replaces, manifest.keys != nil, FileManager.default.fileExists(atPath: keys.path),
            try await BackupFile.of(place.folder, TokenKeySet.fileName) != manifest.keys
        {
            throw Self.notEmpty(keys.path)
        }
        // A killed restore leaves this folder, so that the place is not taken for a new one.
        _ = try place.makeFolder(MerchantPlace.restoreFolder)
        let staging = try StagingFolder(in: restores)
        // Keep the folder locked while it is used.
        defer {
            withExtendedLifetime(staging) {}
            try? FileManager.default.removeItem(at: staging.url)
            // The folder stays when another restore uses it.
            unlink(restores.appendingPathComponent(StagingFolder.lockName).path)
            rmdir(restores.path)
        }
        guard let url = place.databaseURL else {
            return try await restore(manifest, from: folder, staging.url, replaces: replaces)
        }
        let tools = try PostgreSQLTools(url: url, schema: place.schema)
        return try await restore(manifest, from: folder, staging.url, tools, replaces: replaces)
    }

    static func notEmpty(_ what: String) -> MerchantServerError {
        MerchantServerError(
            .notEmpty,
            "\(what) exists already. Restore into an empty place, or give --replace to overwrite the existing data."
        )
    }

    // MARK: SQLite

    private func restore(
        _ manifest: BackupManifest, from folder: URL, _ staging: URL, replaces: Bool
    ) async throws -> BackupReport {
        let file = place.databaseFile
        if !replaces, FileManager.default.fileExists(atPath: file.path) { throw Self.notEmpty(file.path) }
        let aside = try MerchantPlace(
            folder: staging.appendingPathComponent("books"), databaseURL: nil, schema: place.schema)
        try await BlobThreads.run { [copy = folder.appendingPathComponent(manifest.database.name)] in
            do {
                try FileManager.default.copyItem(at: copy, to: aside.databaseFile)
            } catch {
                throw MerchantServerError(.storage, "\(staging.path) cannot be written. Is the disk full?")
            }
        }
        guard chmod(aside.databaseFile.path, 0o600) == 0 else {
            throw MerchantServerError(.storage, "\(aside.databaseFile.path) cannot be made private.")
        }
        try await aside.checkDatabase()
        Self.onStep?(.loaded)
        let content = try await prove(aside)
        // Proving may write, for example in a migration. Everything must be in the file, which alone is moved.
        guard Self.isFolded(aside.databaseFile) else {
            throw MerchantServerError(.storage, "\(staging.path) cannot be written. Is the disk full?")
        }
        let report = try await takingBackOnFailure(manifest, from: folder, staging, content) {
            try await withKeys(manifest, from: folder) {
                // Fold the old database's log into its file, unless it is broken too: the new database would take a log
                // beside it for its own.
                if FileManager.default.fileExists(atPath: file.path) { try await place.foldDatabase(logger: logger) }
                for name in ["-wal", "-shm"] { unlink(file.path + name) }
                Self.onStep?(.proved)
                guard rename(aside.databaseFile.path, file.path) == 0 else {
                    throw MerchantServerError(.storage, "\(file.path) cannot be moved into place.")
                }
            }
            Self.onStep?(.swapped)
        }
        // The database names the content now, which must stay whatever fails after this.
        try MerchantServerError.translating { try BackupFolder.flush(place.folder) }
        return report
    }

    // MARK: PostgreSQL

    private func restore(
        _ manifest: BackupManifest, from folder: URL, _ staging: URL, _ tools: PostgreSQLTools, replaces: Bool
    ) async throws -> BackupReport {
        guard let origin = manifest.schema, PostgreSQLTools.isName(origin) else {
            throw MerchantServerError(.badBackup, "\(folder.path) does not name the schema that it was made from.")
        }
        try await tools.checkNobodyIsThere()
        if !replaces, !(try await tools.isEmpty()) { throw Self.notEmpty("The schema \(place.schema)") }
        return try await takingBackOnFailure(manifest, from: folder, staging, manifest.content) {
            do {
                // Schemas of an earlier restore that was killed.
                try await tools.removeLeftovers()
                let new = try await tools.load(
                    folder.appendingPathComponent(manifest.database.name), madeOf: origin)
                Self.onStep?(.loaded)
                let named = try await prove(
                    try MerchantPlace(folder: place.folder, databaseURL: place.databaseURL, schema: new))
                guard Set(named).isSubset(of: manifest.content) else {
                    throw MerchantServerError(
                        .badBackup, "The backup is damaged: its database names content that its list does not.")
                }
                let strangers = try await tools.strangers(beside: new)
                guard strangers.isEmpty else {
                    throw MerchantServerError(
                        .notEmpty,
                        "The schema \(place.schema) contains or is used by objects that are not the merchant's and would be lost: "
                            + "\(strangers.joined(separator: ", ")). Move them away, or restore into another --schema.")
                }
                try await withKeys(manifest, from: folder) {
                    try await tools.checkNobodyIsThere()
                    Self.onStep?(.proved)
                    try await tools.swap(in: new)
                }
            } catch {
                try? await tools.removeLeftovers()
                throw error
            }
            Self.onStep?(.swapped)
            do {
                try await tools.removeLeftovers()
            } catch {
                logger.error(
                    "the replaced schema cannot be removed; the next restore will try again",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    // MARK: Both

    /// Checks that the ledger of a restored database balances.
    /// - Returns: the content that the database names.
    private func prove(_ place: MerchantPlace) async throws -> [BackupContent] {
        try await place.withMerchant(logger: logger) { merchant in
            let books = try await merchant.checkBooks()
            guard books.balances else {
                throw MerchantServerError(
                    .badBackup, "The books of the backup do not balance: \(books.findings.first ?? "")")
            }
            return try await merchant.contentBlobs().map { .init(sha256: $0.digest, size: $0.size) }
        }
    }

    /// Puts the content in place, then runs `body`. When that fails, removes the content again, unless another process
    /// may use it already.
    private func takingBackOnFailure(
        _ manifest: BackupManifest, from folder: URL, _ staging: URL, _ content: [BackupContent],
        _ body: () async throws -> Void
    ) async throws -> BackupReport {
        var added: [BlobDigest] = []
        var isAlone = true
        do {
            if manifest.hasContent {
                let source = try DirectoryBlobStore(folder: folder.appendingPathComponent(MerchantPlace.contentFolder))
                let copying = ContentCopy(source: source, target: blobs, staging: staging)
                for file in content where try await MerchantServerError.awaiting({ try await copying.copy(file) }) {
                    added += [BlobDigest(file.sha256)].compactMap { $0 }
                }
            }
            for file in content {
                guard let digest = BlobDigest(file.sha256), try await blobs.size(of: digest) == file.size else {
                    throw MerchantServerError(
                        .badBackup, "The content file \(file.sha256) is neither in the backup nor in content storage.")
                }
            }
            // On PostgreSQL others may rely on the content from now on: another restore, or this one's swap if it
            // succeeded and its answer was lost.
            isAlone = place.databaseURL == nil
            try await body()
        } catch {
            if isAlone { for digest in added { try? await blobs.remove(digest) } }
            throw error
        }
        return BackupReport(place.folder, manifest, content)
    }

    /// Whether a closed database's log is folded into its file.
    private static func isFolded(_ file: URL) -> Bool {
        var log = stat()
        return stat(file.path + "-wal", &log) != 0 || log.st_size == 0
    }

    /// Puts the backup's keys in place, then runs `body`. When that fails, restores the previous keys.
    private func withKeys(
        _ manifest: BackupManifest, from folder: URL, _ body: () async throws -> Void
    ) async throws {
        guard let name = manifest.keys?.name else { return try await body() }
        let target = place.folder.appendingPathComponent(name)
        let aside = place.folder.appendingPathComponent("\(name).\(UUID().uuidString).new")
        // A file of public keys alone may be readable by all.
        let before = FileManager.default.fileExists(atPath: target.path) ? try SecretFile.readPublic(target) : nil
        func put(_ bytes: Data) throws {
            _ = try SecretFile.create(aside, bytes)
            guard rename(aside.path, target.path) == 0 else {
                unlink(aside.path)
                throw MerchantServerError(.storage, "\(target.path) cannot be written.")
            }
        }
        try put(try SecretFile.read(folder.appendingPathComponent(name)))
        do { try await body() } catch {
            do {
                if let before { try put(before) } else { unlink(target.path) }
            } catch {
                logger.error(
                    "the previous keys of users' tokens are lost", metadata: ["error": "\(error)"])
            }
            throw error
        }
    }
}
