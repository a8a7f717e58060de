import Backups
import CornerstoreEncoding
import Foundation

/// The contents of a store's backup. It is written last: a folder without it is not a complete backup.
struct StoreBackupManifest: Codable, Equatable, Sendable {
    static let fileName = "backup.json"
    static let format = "cornerstore-store-backup"
    /// The largest manifest in bytes: a hundred for each of half a million content files.
    static let maximumSize = 64 << 20

    enum Engine: String, Codable, Sendable {
        case sqlite
        case postgresql

        /// The names of the databases' files.
        var fileNames: [String] {
            self == .postgresql ? ["store.pgdump"] : ["sandbox.sqlite", "production.sqlite", "apps.sqlite"]
        }

        /// The engine's name in a sentence.
        var name: String { self == .postgresql ? "PostgreSQL" : "SQLite" }
    }

    var format = Self.format
    var version = 1
    /// The start of the backup, in milliseconds since 1970. Everything that was confirmed before is in it.
    var begunAt: Int64
    var engine: Engine
    /// The prefix of the schemas' names; nil for SQLite.
    var schemaPrefix: String?
    var databases: [BackupFile]
    /// The authority's keys and the sandbox tester, of a store that keeps them in files.
    var keys: [BackupFile]
    /// All content that the databases name, and possibly some more.
    var content: [BackupContent]
    /// Whether the backup contains the bytes of the content.
    var hasContent: Bool

    /// Reads a backup's manifest, and checks that the files that it names are unchanged.
    /// - Throws: ``BackupError`` `badBackup`.
    static func read(_ folder: URL) async throws -> StoreBackupManifest {
        let file = folder.appendingPathComponent(fileName)
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value
        guard let size else {
            throw BackupError(
                .badBackup, "\(folder.path) is not a complete backup: it has no \(fileName), which is written last.")
        }
        guard size <= maximumSize, let data = FileManager.default.contents(atPath: file.path),
            let manifest = try? JSONDecoder().decode(StoreBackupManifest.self, from: data), manifest.format == format
        else { throw BackupError(.badBackup, "\(file.path) is not a file that “store backup” writes.") }
        guard manifest.version == 1 else {
            throw BackupError(
                .badBackup, "\(folder.path) was made by a newer version of cornerstore. Use that version.")
        }
        guard manifest.databases.map(\.name) == manifest.engine.fileNames,
            Set(manifest.keys.map(\.name)).count == manifest.keys.count,
            manifest.keys.allSatisfy({ StoreFiles.isKey($0.name) })
        else { throw BackupError(.badBackup, "\(file.path) names files that do not belong to a backup.") }
        for named in manifest.databases + manifest.keys {
            guard try await BackupFile.of(folder, named.name) == named else {
                throw BackupError(
                    .badBackup,
                    "\(folder.appendingPathComponent(named.name).path) has changed since the backup was made.")
            }
        }
        return manifest
    }

    /// Writes the manifest, mode 0600.
    /// - Throws: ``BackupError`` `storage`.
    func write(into folder: URL) throws {
        _ = try SecretFile.create(folder.appendingPathComponent(Self.fileName), JSONEncoder.readable.encode(self))
    }
}
