import Backups
import CornerstoreEncoding
import Foundation

/// The contents of a store's backup.
struct StoreBackupManifest: BackupListing, Equatable {
    static let formatName = "cornerstore-store-backup"
    static let owner = "store"

    var format = formatName
    var version = 1
    /// The start of the backup, in milliseconds since 1970. Everything that was confirmed before is in it.
    var begunAt: Int64
    var engine: BackupEngine
    /// The prefix of the schemas' names; nil for SQLite.
    var schemaPrefix: String?
    var databases: [BackupFile]
    /// The authority's keys and the sandbox tester, of a store that keeps them in files.
    var keys: [BackupFile]
    var content: [BackupContent]
    var hasContent: Bool

    var keyFiles: [BackupFile] { keys }
    var namesItsFiles: Bool {
        databases.map(\.name) == engine.fileNames && Set(keys.map(\.name)).count == keys.count
            && keys.allSatisfy { StoreFiles.isKey($0.name) }
    }

    /// Writes the manifest, mode 0600.
    /// - Throws: ``BackupError`` `storage`.
    func write(into folder: URL) throws {
        _ = try SecretFile.create(folder.appendingPathComponent(Self.fileName), JSONEncoder.readable.encode(self))
    }
}

extension BackupEngine {
    /// The names of the databases' files.
    var fileNames: [String] {
        self == .postgresql ? ["store.pgdump"] : ["sandbox.sqlite", "production.sqlite", "apps.sqlite"]
    }
}
