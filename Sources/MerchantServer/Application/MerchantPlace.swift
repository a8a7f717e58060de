import BlobStorage
import Database
import Foundation
import HTTPSupport
import Logging
import Merchant

/// Where a merchant keeps everything: its folder, and its database in it or elsewhere.
public struct MerchantPlace: Sendable {
    public let folder: URL
    public let databaseURL: String?
    public let schema: String

    /// Makes the folder, mode 0700, when it is not there.
    /// - Throws: ``MerchantServerError`` `dataDirectoryUnusable`.
    public init(folder: URL, databaseURL: String?, schema: String) throws {
        self.folder = folder
        self.databaseURL = databaseURL
        self.schema = schema
        _ = try makeFolder(nil)
    }

    /// Whether a server has run in a folder without a database there: what it has is elsewhere.
    public static func hasDatabaseElsewhere(_ folder: URL) -> Bool {
        let files = FileManager.default
        return files.fileExists(atPath: folder.appendingPathComponent(uploads).path)
            && !files.fileExists(atPath: folder.appendingPathComponent(databaseName).path)
    }

    /// Whether a folder has a SQLite database of a merchant.
    public static func hasDatabase(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(databaseName).path)
    }

    /// Whether a restore was killed that would have brought a folder its SQLite database, or is under way.
    public static func isHalfRestored(_ folder: URL) -> Bool {
        !hasDatabase(folder)
            && FileManager.default.fileExists(atPath: folder.appendingPathComponent(restoreFolder).path)
    }

    /// Whether a folder has content of a merchant's. A server makes the folder for it when it is started without a bucket.
    public static func hasContent(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(contentFolder).path)
    }

    /// Whether a server has run in a folder that keeps its content elsewhere: in a bucket.
    public static func hasContentElsewhere(_ folder: URL) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(uploads).path) && !hasContent(folder)
    }

    private static let databaseName = "merchant.sqlite"
    /// The folder for files that are coming in. A server makes it, and who puts content in beside one.
    static let uploads = "uploads"
    /// Where a restore into a folder with a SQLite database puts one together. It is left behind only when that is killed.
    static let restoreFolder = "restore"

    /// Keeps other servers off a folder that holds a SQLite database. With PostgreSQL several may share one: nil.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lock() throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder)
        } words: { owner in
            "The data directory \(folder.path) is in use by another merchant\(owner). Stop it, give another directory with "
                + "--data, or a PostgreSQL with --database, which several servers may share."
        }
    }

    /// Keeps a restore and what works beside a server off one another: the database is changed for another one, and what somebody does in the old
    /// one would be lost. With PostgreSQL a restore looks at who is connected: nil.
    /// - Parameter kind: exclusive for a restore.
    /// - Throws: ``MerchantServerError`` `dataDirectoryInUse`, `dataDirectoryUnusable`.
    func lockForCommands(_ kind: DirectoryLock.Kind) throws -> DirectoryLock? {
        guard databaseURL == nil else { return nil }
        return try taking { () throws(DirectoryLock.Refusal) in
            try DirectoryLock(folder: folder, kind)
        } words: { _ in
            kind == .shared
                ? "A backup is being restored into \(folder.path). Wait until that is done."
                : "Another command works on the merchant in \(folder.path). Wait until it is done, then restore."
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
                "The data directory \(folder.path) cannot be written. Give another with --data.")
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
                "A restore into \(folder.path) was ended before it was done, and there is no database yet. Run it again; or remove "
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

    /// Runs something over the merchant's database, beside a server that may be running on it. No purchase can be proved.
    /// - Parameters:
    ///   - bucket: where the merchant keeps content; nil for the folder in its data directory.
    ///   - sendsWebhooks: whether the server sends webhooks of what changes.
    ///   - joinsEnvironments: ``MerchantPolicy/joinsEnvironments`` of the server.
    /// - Throws: what the body throws; ``MerchantServerError`` `dataDirectoryInUse` while a backup is restored there, `dataDirectoryUnusable`,
    ///   `halfRestored`; ``DatabaseError``.
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

    /// Where a SQLite database is.
    var databaseFile: URL { folder.appendingPathComponent(Self.databaseName) }

    /// What the folder of content is called.
    static let contentFolder = "content"

    /// Where content is kept: a bucket, or a folder in the data directory.
    /// - Parameters:
    ///   - makesFolder: whether the folder is made at once, or with what is first put there.
    ///   - now: the machine's clock.
    func blobs(
        _ bucket: S3Location?, makesFolder: Bool = true, now: @escaping @Sendable () -> Date
    ) throws -> any BlobStore {
        if let bucket { return S3BlobStore(bucket, now: now) }
        return try DirectoryBlobStore(
            folder: folder.appendingPathComponent(Self.contentFolder), makesFolder: makesFolder)
    }

    /// Opens and closes a SQLite database that nobody works on, so that it is in one file.
    func fold(logger: Logger) async throws { try await openDatabase(logger: logger).close() }

    /// Makes a folder in it, mode 0700.
    func makeFolder(_ name: String?) throws -> URL {
        let url = name.map { folder.appendingPathComponent($0) } ?? folder
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw MerchantServerError(
                .dataDirectoryUnusable, "The data directory \(url.path) cannot be made. Give another with --data.")
        }
        return url
    }
}
