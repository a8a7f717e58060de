import Backups
import Foundation
import Glibc

/// The files with keys that a restore on PostgreSQL replaces.
///
/// The files and the schemas are two places, so the old files stay in the folder `replaced` until the restored schemas
/// are in place. PostgreSQL's number of the schema `PREFIX_apps` then says which files belong to the databases: the
/// restore notes the number of the restored schema, and a schema keeps its number when it is renamed.
enum ReplacedKeys {
    /// The folder of the old files in the data directory.
    private static let folder = "replaced"
    /// The file of the ``Note`` in the folder. It is removed last.
    private static let noteName = "restore.json"

    private struct Note: Codable {
        /// The number of the restored schema.
        var schema: String
        /// The files and folders with keys that the store had.
        var parts: [String]
    }

    /// Whether a restore has ended before it was certain which files belong to the databases.
    static func isThere(_ data: URL) -> Bool { exists(data.appendingPathComponent(folder)) }

    /// Puts the files with keys of an assembled folder in the place of a data directory's, and keeps the old ones until
    /// ``end(in:schema:)``. Nobody may use the data directory.
    /// - Parameters:
    ///   - staging: a folder for files in progress, on the same file system.
    ///   - schema: PostgreSQL's number of the restored schema `PREFIX_apps`.
    /// - Throws: ``BackupError`` `storage`. Call ``end(in:schema:)`` then, too.
    static func replace(in data: URL, by new: URL, staging: URL, schema: String) throws {
        let aside = staging.appendingPathComponent(folder)
        let kept = data.appendingPathComponent(folder)
        let note = Note(
            schema: schema, parts: StoreFiles.keyParts.filter { exists(data.appendingPathComponent($0)) })
        guard mkdir(aside.path, 0o700) == 0 else { throw unwritable(aside) }
        _ = try SecretFile.create(aside.appendingPathComponent(noteName), try JSONEncoder().encode(note))
        try BackupFolder.flush(aside)
        try BackupFolder.flush(new)
        try move(aside, to: kept)
        try BackupFolder.flush(data)
        for part in note.parts {
            try move(data.appendingPathComponent(part), to: kept.appendingPathComponent(part))
        }
        try BackupFolder.flush(kept)
        for part in StoreFiles.keyParts where exists(new.appendingPathComponent(part)) {
            try move(new.appendingPathComponent(part), to: data.appendingPathComponent(part))
        }
        try BackupFolder.flush(data)
    }

    /// Ends a replacement: removes the old files if the databases are the restored ones, and puts the old files back if
    /// not. Does nothing when there is none. Can be repeated when it fails or is killed.
    /// - Parameter number: gives PostgreSQL's number of the schema `PREFIX_apps` now; nil when there is no such schema.
    /// - Throws: ``BackupError`` `storage`; the error of `number`.
    static func end(in data: URL, schema number: () async throws -> String?) async throws {
        let kept = data.appendingPathComponent(folder)
        guard exists(kept) else { return }
        let file = kept.appendingPathComponent(noteName)
        if exists(file) {
            guard let note = try? JSONDecoder().decode(Note.self, from: try SecretFile.readPublic(file)) else {
                throw BackupError(.storage, "\(file.path) cannot be read, so that an interrupted restore cannot end.")
            }
            if try await number() != note.schema { try putBack(note, kept, in: data) }
            for part in StoreFiles.keyParts { try remove(kept.appendingPathComponent(part)) }
            try BackupFolder.flush(kept)
            guard unlink(file.path) == 0 else { throw unwritable(file) }
        }
        guard rmdir(kept.path) == 0 else { throw unwritable(kept) }
        try BackupFolder.flush(data)
    }

    private static func putBack(_ note: Note, _ kept: URL, in data: URL) throws {
        for part in StoreFiles.keyParts {
            let (old, target) = (kept.appendingPathComponent(part), data.appendingPathComponent(part))
            if note.parts.contains(part) {
                // An old file that is not here was not moved yet, or is back already.
                guard exists(old) else { continue }
                try remove(target)
                try move(old, to: target)
            } else {
                try remove(target)
            }
        }
        try BackupFolder.flush(data)
    }

    private static func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    private static func move(_ source: URL, to target: URL) throws {
        guard rename(source.path, target.path) == 0 else { throw unwritable(target) }
    }

    private static func remove(_ url: URL) throws {
        guard exists(url) else { return }
        do { try FileManager.default.removeItem(at: url) } catch {
            throw BackupError(.storage, "\(url.path) cannot be removed.")
        }
    }

    /// The error of the last system call.
    private static func unwritable(_ url: URL) -> BackupError {
        BackupError(.storage, "\(url.path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
