import BlobStorage
import Database
import Foundation
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
            && !files.fileExists(atPath: folder.appendingPathComponent(databaseFile).path)
    }

    private static let databaseFile = "merchant.sqlite"
    /// The folder for files that are coming in, which a server alone makes.
    static let uploads = "uploads"

    /// Opens the database and brings its tables up to date.
    /// - Throws: ``DatabaseError``.
    public func openDatabase(logger: Logger) async throws -> Database {
        let location: DatabaseLocation =
            if let databaseURL {
                .postgresql(url: databaseURL, schema: schema, connections: 8)
            } else {
                .sqlite(path: folder.appendingPathComponent(Self.databaseFile).path)
            }
        return try await Database.open(location, migrations: MerchantSchema.migrations, logger: logger)
    }

    /// Runs something over the merchant's database, beside a server that may be running on it. No purchase can be proved.
    /// - Throws: what the body throws; ``DatabaseError``.
    public func withMerchant<T>(
        logger: Logger, _ body: (Merchant) async throws -> T
    ) async throws -> T {
        let database = try await openDatabase(logger: logger)
        do {
            let merchant = Merchant(
                database: database, blobs: try DirectoryBlobStore(folder: try makeFolder("content")),
                verifier: try PurchaseVerifier(stores: [], bundleIDs: [], environments: []), policy: MerchantPolicy(),
                now: { Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down)) }, makeID: { UUID() })
            let result = try await body(merchant)
            await database.close()
            return result
        } catch {
            await database.close()
            throw error
        }
    }

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
