import Foundation

/// The engine of the databases in a backup.
package enum BackupEngine: String, Codable, Sendable {
    /// SQLite, each database a file.
    case sqlite
    /// PostgreSQL, copied with `pg_dump`.
    case postgresql

    /// The engine's name in a sentence.
    package var name: String { self == .postgresql ? "PostgreSQL" : "SQLite" }
}

/// The list of what a backup contains. It is written last: a folder without it is not a complete backup.
package protocol BackupListing: Codable, Sendable {
    /// The format's name, which tells a store's backup from a merchant's.
    static var formatName: String { get }
    /// The owner of the backup, in a sentence and in the commands: `store` or `merchant`.
    static var owner: String { get }

    /// The name of the format that it was written in.
    var format: String { get }
    /// The version of the format; this program writes and reads version 1.
    var version: Int { get }
    /// The databases' engine.
    var engine: BackupEngine { get }
    /// The copies of the databases.
    var databases: [BackupFile] { get }
    /// The copies of the files with keys.
    var keyFiles: [BackupFile] { get }
    /// All content that the databases name, and possibly some more.
    var content: [BackupContent] { get }
    /// Whether the backup contains the bytes of the content.
    var hasContent: Bool { get }
    /// Whether its files are those of such a backup, and no others.
    var namesItsFiles: Bool { get }
}

extension BackupListing {
    /// The name of the list's file.
    package static var fileName: String { "backup.json" }

    /// Reads the list of a backup that is to be restored, and checks that the files that it names are unchanged.
    /// - Parameters:
    ///   - folder: the backup.
    ///   - engine: the engine to restore on.
    ///   - restores: the folder in which restores are assembled, which must not contain the backup.
    /// - Throws: ``BackupError`` `badBackup`.
    package static func read(_ folder: URL, on engine: BackupEngine, outside restores: URL) async throws -> Self {
        let listing = try await read(folder)
        guard listing.engine == engine else {
            throw BackupError(
                .badBackup,
                "\(folder.path) is a backup of a \(owner) on \(listing.engine.name), and can be restored only on the same engine"
                    + "\(listing.engine == .sqlite ? "" : ": name the server with --database").")
        }
        guard !(folder.standardizedFileURL.path + "/").hasPrefix(restores.standardizedFileURL.path + "/") else {
            throw BackupError(
                .badBackup,
                "\(restores.path) is the folder in which restores are assembled. Move the backup somewhere else first."
            )
        }
        return listing
    }

    private static func read(_ folder: URL) async throws -> Self {
        let file = folder.appendingPathComponent(fileName)
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber)?.int64Value
        guard let size else {
            throw BackupError(
                .badBackup, "\(folder.path) is not a complete backup: it has no \(fileName), which is written last.")
        }
        guard size <= largestList, let data = FileManager.default.contents(atPath: file.path),
            let listing = try? JSONDecoder().decode(Self.self, from: data), listing.format == formatName
        else { throw BackupError(.badBackup, "\(file.path) is not a file that “\(owner) backup” writes.") }
        guard listing.version == 1 else {
            throw BackupError(
                .badBackup, "\(folder.path) was made by a newer version of cornerstore. Use that version.")
        }
        guard listing.namesItsFiles else {
            throw BackupError(.badBackup, "\(file.path) names files that do not belong to a backup.")
        }
        for named in listing.databases + listing.keyFiles {
            guard try await BackupFile.of(folder, named.name) == named else {
                throw BackupError(
                    .badBackup,
                    "\(folder.appendingPathComponent(named.name).path) has changed since the backup was made.")
            }
        }
        return listing
    }

    /// The largest list in bytes: a hundred for each of half a million content files.
    private static var largestList: Int64 { 64 << 20 }
}

/// The result of a backup or a restore.
public struct BackupReport: Encodable, Sendable {
    /// The path of the backup, or of the data directory that was restored.
    public var directory: String
    /// The databases' engine: `sqlite` or `postgresql`.
    public var engine: String
    /// The size of the databases' copies, in bytes.
    public var databaseBytes: Int64
    /// The number of content files.
    public var contentFiles: Int
    /// The total size of the content files, in bytes.
    public var contentBytes: Int64
    /// Whether the backup contains the bytes of the content.
    public var hasContent: Bool

    /// Reports on a backup.
    /// - Parameter content: the content that was backed up or restored.
    package init(_ directory: URL, _ listing: some BackupListing, _ content: [BackupContent]) {
        self.directory = directory.path
        engine = listing.engine.rawValue
        databaseBytes = listing.databases.reduce(0) { $0 + $1.size }
        contentFiles = content.count
        contentBytes = content.reduce(0) { $0 + $1.size }
        hasContent = listing.hasContent
    }
}
