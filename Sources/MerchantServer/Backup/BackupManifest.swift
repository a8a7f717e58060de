import Backups
import CornerstoreEncoding
import Foundation

/// The contents of a merchant's backup.
struct BackupManifest: BackupListing, Equatable {
    static let formatName = "cornerstore-merchant-backup"
    static let owner = "merchant"

    var format = formatName
    var version = 1
    /// The start of the backup, in milliseconds since 1970. Everything that was confirmed before is in it.
    var begunAt: Int64
    var engine: BackupEngine
    /// The schema's name; nil for SQLite.
    var schema: String?
    var database: BackupFile
    /// The keys of users' tokens; nil when the data directory has none.
    var keys: BackupFile?
    var content: [BackupContent]
    var hasContent: Bool

    var databases: [BackupFile] { [database] }
    var keyFiles: [BackupFile] { [keys].compactMap(\.self) }
    var namesItsFiles: Bool {
        database.name == engine.fileName && keyFiles.allSatisfy { $0.name == TokenKeySet.fileName }
    }

    /// Writes the manifest, mode 0600.
    func write(into folder: URL) throws {
        _ = try SecretFile.create(folder.appendingPathComponent(Self.fileName), JSONEncoder.readable.encode(self))
    }
}

extension BackupEngine {
    /// The name of the database's file.
    var fileName: String { self == .sqlite ? "merchant.sqlite" : "merchant.pgdump" }
}
