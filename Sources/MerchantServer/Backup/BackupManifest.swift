import Backups
import CornerstoreEncoding
import Foundation

/// The contents of a backup. It is written last: a folder without it is not a complete backup.
struct BackupManifest: Codable, Equatable, Sendable {
    static let fileName = "backup.json"
    static let format = "cornerstore-merchant-backup"
    /// The largest manifest in bytes: a hundred for each of half a million content files.
    static let maximumSize = 64 << 20

    typealias File = BackupFile
    typealias Content = BackupContent

    enum Engine: String, Codable, Sendable {
        case sqlite
        case postgresql

        /// The name of the database's file.
        var fileName: String { self == .sqlite ? "merchant.sqlite" : "merchant.pgdump" }
    }

    var format = Self.format
    var version = 1
    /// The start of the backup, in milliseconds since 1970. Everything that was confirmed before is in it.
    var begunAt: Int64
    var engine: Engine
    /// The schema's name; nil for SQLite.
    var schema: String?
    var database: File
    /// The keys of users' tokens; nil when the data directory has none.
    var keys: File?
    /// All content that the database names, and possibly some more.
    var content: [Content]
    /// Whether the backup contains the bytes of the content.
    var hasContent: Bool

    /// Reads a backup's manifest, and checks that the files that it names are unchanged.
    /// - Throws: ``MerchantServerError`` `badBackup`.
    static func read(_ folder: URL) async throws -> BackupManifest {
        let file = folder.appendingPathComponent(fileName)
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value
        guard let size else {
            throw MerchantServerError(
                .badBackup, "\(folder.path) is not a complete backup: it has no \(fileName), which is written last.")
        }
        guard size <= maximumSize, let data = FileManager.default.contents(atPath: file.path),
            let manifest = try? JSONDecoder().decode(BackupManifest.self, from: data), manifest.format == format
        else { throw MerchantServerError(.badBackup, "\(file.path) is not a file that “merchant backup” writes.") }
        guard manifest.version == 1 else {
            throw MerchantServerError(
                .badBackup, "\(folder.path) was made by a newer version of cornerstore. Use that version.")
        }
        guard manifest.database.name == manifest.engine.fileName,
            manifest.keys.map({ $0.name == TokenKeySet.fileName }) ?? true
        else { throw MerchantServerError(.badBackup, "\(file.path) names files that do not belong to a backup.") }
        for named in [manifest.database] + [manifest.keys].compactMap({ $0 }) {
            guard try await File.of(folder, named.name) == named else {
                throw MerchantServerError(
                    .badBackup,
                    "\(folder.appendingPathComponent(named.name).path) has changed since the backup was made.")
            }
        }
        return manifest
    }

    /// Writes the manifest, mode 0600.
    func write(into folder: URL) throws {
        _ = try SecretFile.create(folder.appendingPathComponent(Self.fileName), JSONEncoder.readable.encode(self))
    }
}
