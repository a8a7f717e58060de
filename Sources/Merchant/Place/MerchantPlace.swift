import BlobStorage
import Database
import Foundation
import Logging

/// The place where a merchant stores everything: its folder, and its database in the folder or elsewhere.
public struct MerchantPlace: Sendable {
    /// The data directory.
    public let folder: URL
    /// The database's `postgres://…` URL; nil for SQLite in the folder.
    public let databaseURL: String?
    /// The schema's name in PostgreSQL.
    public let schema: String

    /// Creates the folder with mode 0700 when it does not exist.
    /// - Throws: ``MerchantPlaceError`` `unusable`.
    public init(folder: URL, databaseURL: String?, schema: String) throws {
        self.folder = folder
        self.databaseURL = databaseURL
        self.schema = schema
        _ = try makeFolder(nil)
    }

    /// Whether a server has used the folder with a database elsewhere.
    public static func hasDatabaseElsewhere(_ folder: URL) -> Bool {
        let files = FileManager.default
        return files.fileExists(atPath: folder.appendingPathComponent(uploads).path)
            && !files.fileExists(atPath: folder.appendingPathComponent(databaseName).path)
    }

    /// Whether the folder contains a merchant's SQLite database.
    public static func hasDatabase(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(databaseName).path)
    }

    /// Whether a restore of a SQLite database into the folder is in progress or was killed.
    public static func isHalfRestored(_ folder: URL) -> Bool {
        !hasDatabase(folder)
            && FileManager.default.fileExists(atPath: folder.appendingPathComponent(restoreFolder).path)
    }

    /// Whether the folder contains a merchant's content. A server that starts without a bucket creates the folder for
    /// it.
    public static func hasContent(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(contentFolder).path)
    }

    /// Whether a server has used the folder with its content elsewhere, in a bucket.
    public static func hasContentElsewhere(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(uploads).path) && !hasContent(folder)
    }

    private static let databaseName = "merchant.sqlite"
    /// The folder for incoming files. A server creates it, and so does a command that adds content.
    package static let uploads = "uploads"
    /// The folder in which a restore of a SQLite database is assembled. Only a killed restore leaves it behind.
    package static let restoreFolder = "restore"

    /// Opens the database and brings its tables up to date.
    /// - Throws: ``MerchantPlaceError`` `halfRestored`; ``DatabaseError``.
    public func openDatabase(logger: Logger) async throws -> Database {
        guard databaseURL != nil || !Self.isHalfRestored(folder) else {
            throw MerchantPlaceError(
                .halfRestored,
                "The restore into \(folder.path) is incomplete, and there is no database yet. Run it again, or remove "
                    + "\(folder.appendingPathComponent(Self.restoreFolder).path) to begin with empty books.")
        }
        let location: DatabaseLocation =
            if let databaseURL {
                .postgresql(url: databaseURL, schema: schema, connections: 8)
            } else {
                .sqlite(path: databaseFile.path)
            }
        return try await Database.open(location, migrations: MerchantSchema.migrations, logger: logger)
    }

    /// The file of a SQLite database.
    package var databaseFile: URL { folder.appendingPathComponent(Self.databaseName) }

    /// The name of the folder for content.
    package static let contentFolder = "content"

    /// The store of content: a bucket, or a folder in the data directory.
    /// - Parameters:
    ///   - makesFolder: whether to create the folder now rather than with the first content.
    ///   - now: the machine's clock.
    package func blobs(
        _ bucket: S3Location?, makesFolder: Bool = true, now: @escaping @Sendable () -> Date
    ) throws -> any BlobStore {
        if let bucket { return S3BlobStore(bucket, now: now) }
        return try DirectoryBlobStore(
            folder: folder.appendingPathComponent(Self.contentFolder), makesFolder: makesFolder)
    }

    /// Creates a folder in the data directory, mode 0700; nil is the data directory itself.
    package func makeFolder(_ name: String?) throws -> URL {
        let url = name.map { folder.appendingPathComponent($0) } ?? folder
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw MerchantPlaceError(
                .unusable, "The data directory \(url.path) cannot be created. Choose another with --data.")
        }
        return url
    }
}

/// The reason why a merchant's place cannot be used.
public struct MerchantPlaceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The data directory cannot be created.
        case unusable
        /// A restore into an empty place ended before its database was there.
        case halfRestored
    }

    /// The kind of failure.
    public var code: Code
    /// A sentence for the operator: what is wrong, where, and what to do. It contains no secret.
    public var detail: String

    init(_ code: Code, _ detail: String) { (self.code, self.detail) = (code, detail) }

    /// The ``detail``.
    public var description: String { detail }
}
