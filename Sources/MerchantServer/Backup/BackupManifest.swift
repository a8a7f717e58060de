import BlobStorage
import Crypto
import Foundation
import Glibc

/// What is in a backup, written last: a folder without it is no whole backup.
struct BackupManifest: Codable, Equatable, Sendable {
    static let fileName = "backup.json"
    static let format = "cornerstore-merchant-backup"
    /// In bytes; a hundred for each of half a million content files.
    static let maximumSize = 64 << 20

    /// A file of the backup's folder.
    struct File: Codable, Equatable, Sendable {
        var name: String
        var size: Int64
        var sha256: String
    }

    struct Content: Codable, Hashable, Sendable {
        var sha256: String
        var size: Int64
    }

    enum Engine: String, Codable, Sendable {
        case sqlite
        case postgresql

        /// What the database's file is called.
        var fileName: String { self == .sqlite ? "merchant.sqlite" : "merchant.pgdump" }
    }

    var format = Self.format
    var version = 1
    /// Milliseconds since 1970: everything that was confirmed before is in it.
    var begunAt: Int64
    var engine: Engine
    /// PostgreSQL's.
    var schema: String?
    var database: File
    /// The keys of users' tokens, when the data directory has them.
    var keys: File?
    /// All that the database names, and perhaps a little more.
    var content: [Content]
    /// Whether the bytes of the content are in the backup.
    var hasContent: Bool

    /// Reads a backup's, and makes sure that the files that it names are as they were.
    /// - Throws: ``MerchantServerError`` `badBackup`.
    static func read(_ folder: URL) async throws -> BackupManifest {
        let file = folder.appendingPathComponent(fileName)
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value
        guard let size else {
            throw MerchantServerError(
                .badBackup, "\(folder.path) is no backup: it has no \(fileName), which is written last.")
        }
        guard size <= maximumSize, let data = FileManager.default.contents(atPath: file.path),
            let manifest = try? JSONDecoder().decode(BackupManifest.self, from: data), manifest.format == format
        else { throw MerchantServerError(.badBackup, "\(file.path) is not what “merchant backup” writes.") }
        guard manifest.version == 1 else {
            throw MerchantServerError(.badBackup, "\(folder.path) was made by a newer cornerstore. Use that.")
        }
        guard manifest.database.name == manifest.engine.fileName,
            manifest.keys.map({ $0.name == TokenKeySet.fileName }) ?? true
        else { throw MerchantServerError(.badBackup, "\(file.path) names files that are none of a backup's.") }
        for named in [manifest.database] + [manifest.keys].compactMap({ $0 }) {
            guard try await File.of(folder, named.name) == named else {
                throw MerchantServerError(
                    .badBackup, "\(folder.appendingPathComponent(named.name).path) is not as it was when it was made.")
            }
        }
        return manifest
    }

    /// Writes it, mode 0600.
    func write(into folder: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        _ = try SecretFile.create(folder.appendingPathComponent(Self.fileName), encoder.encode(self))
    }
}

extension BackupManifest.File {
    /// A file as it is; nil when it is not there or not regular.
    static func of(_ folder: URL, _ name: String) async throws -> Self? {
        let url = folder.appendingPathComponent(name)
        guard let file = try? await BlobThreads.run({ try BlobFile(url) }) else { return nil }
        var hash = SHA256()
        for try await piece in try file.bytes(in: 0..<file.size) {
            piece.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
        }
        return Self(name: name, size: file.size, sha256: BlobDigest(hash.finalize()).hexadecimal)
    }
}
