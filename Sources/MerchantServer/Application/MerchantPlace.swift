import BlobStorage
import Database
import Foundation
import Logging
import Merchant
import ServerSupport

/// The place where a merchant stores everything: its folder, and its database in the folder or elsewhere.
public struct MerchantPlace: Sendable {
    /// The data directory.
    public let folder: URL
    /// The database's `postgres://…` URL; nil for SQLite in the folder.
    public let databaseURL: String?
    /// The schema's name in PostgreSQL.
    public let schema: String

    /// Creates the folder with mode 0700 when it does not exist.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
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
    static let uploads = "uploads"
    /// The folder in which a restore of a SQLite database is assembled. Only a killed restore leaves it behind.
    static let restoreFolder = "restore"

    /// Keeps other servers out of a folder with a SQLite database. Returns nil for PostgreSQL, which several servers
    /// may share.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lock() throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder)
        } words: { owner in
            "The data directory \(folder.path) is in use by another merchant\(owner). Stop it, choose another directory with "
                + "--data, or use PostgreSQL with --database, which several servers may share."
        }
    }

    /// Keeps a restore apart from commands that work beside a server: the restore replaces the database, and changes to
    /// the old one would be lost. Returns nil for PostgreSQL, where a restore checks for connections instead.
    /// - Parameter kind: exclusive for a restore.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lockForCommands(_ kind: DirectoryLock.Kind) throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder: folder, kind)
        } words: { _ in
            kind == .shared
                ? "A backup is being restored into \(folder.path). Wait until the restore is done."
                : "Another command is using the merchant in \(folder.path). Wait until it is done, then restore."
        }
    }

    private func taking(
        _ take: () throws(DirectoryLock.Refusal) -> DirectoryLock, words: (_ owner: String) -> String
    ) throws -> DirectoryLock {
        do throws(DirectoryLock.Refusal) {
            return try take()
        } catch .unwritable {
            throw MerchantServerError(
                .dataDirectoryUnusable,
                "The data directory \(folder.path) cannot be written. Choose another with --data.")
        } catch {
            throw MerchantServerError(.dataDirectoryInUse, words(error.owner))
        }
    }

    /// Opens the database and brings its tables up to date.
    /// - Throws: ``MerchantServerError`` `halfRestored`; ``DatabaseError``.
    public func openDatabase(logger: Logger) async throws -> Database {
        guard databaseURL != nil || !Self.isHalfRestored(folder) else {
            throw MerchantServerError(
                .halfRestored,
                "A restore into \(folder.path) ended before it was done, and there is no database yet. Run it again, or remove "
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

    /// Runs `body` with the merchant's database, also while a server uses it. The merchant cannot verify purchases.
    /// - Parameters:
    ///   - bucket: the bucket in which the merchant stores content; nil for the folder in its data directory.
    ///   - sendsWebhooks: whether the server sends webhooks about changes.
    ///   - joinsEnvironments: the server's ``MerchantPolicy/joinsEnvironments``.
    /// - Throws: the errors of `body`; ``MerchantServerError`` `dataDirectoryInUse` while a backup is being restored,
    ///   `dataDirectoryUnusable`, `halfRestored`; ``DatabaseError``.
    public func withMerchant<T>(
        bucket: S3Location? = nil, sendsWebhooks: Bool = false, joinsEnvironments: Bool = false, logger: Logger,
        _ body: (Merchant) async throws -> T
    ) async throws -> T {
        let lock = try lockForCommands(.shared)
        defer { lock?.release() }
        let database = try await openDatabase(logger: logger)
        do {
            let merchant = Merchant(
                database: database, blobs: try blobs(bucket, makesFolder: false, now: { Date() }),
                verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []),
                policy: MerchantPolicy(sendsWebhooks: sendsWebhooks, joinsEnvironments: joinsEnvironments),
                now: { Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)) }, makeID: { UUID() })
            let result = try await body(merchant)
            await database.close()
            return result
        } catch {
            await database.close()
            throw error
        }
    }

    /// The file of a SQLite database.
    var databaseFile: URL { folder.appendingPathComponent(Self.databaseName) }

    /// The name of the folder for content.
    static let contentFolder = "content"

    /// The store of content: a bucket, or a folder in the data directory.
    /// - Parameters:
    ///   - makesFolder: whether to create the folder now rather than with the first content.
    ///   - now: the machine's clock.
    func blobs(
        _ bucket: S3Location?, makesFolder: Bool = true, now: @escaping @Sendable () -> Date
    ) throws -> any BlobStore {
        if let bucket { return S3BlobStore(bucket, now: now) }
        return try DirectoryBlobStore(
            folder: folder.appendingPathComponent(Self.contentFolder), makesFolder: makesFolder)
    }

    /// Opens and closes a SQLite database that nobody uses, so that all of it is in one file.
    func fold(logger: Logger) async throws { try await openDatabase(logger: logger).close() }

    /// Creates a folder in the data directory, mode 0700; nil is the data directory itself.
    func makeFolder(_ name: String?) throws -> URL {
        let url = name.map { folder.appendingPathComponent($0) } ?? folder
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw MerchantServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be created. Choose another with --data.")
        }
        return url
    }
}
