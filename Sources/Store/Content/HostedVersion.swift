import BlobStorage
import ContentPackages
import Database
import Foundation
import StoreWire

/// A product of an app, by its two identifiers.
public struct ContentProduct: Sendable, Hashable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product's identifier, unique in the app.
    public var productID: ProductID

    /// Names a product of an app.
    public init(_ productID: ProductID, of bundleID: BundleID) {
        self.bundleID = bundleID
        self.productID = productID
    }
}

/// A package that passed the checks. Dates are milliseconds since 1970 by production's clock.
public struct HostedVersion: Sendable, Equatable {
    /// An entry in the version's history.
    public struct Moment: Sendable, Equatable {
        /// The state that the version entered.
        public var state: ContentState
        /// When it entered the state, in milliseconds since 1970 by production's clock.
        public var date: Int64
        /// The reason for a rejection; nil in other states.
        public var reason: String?
    }

    /// The identifier of the version, unique in the store.
    public var versionID: UUID
    /// The product that the content belongs to.
    public var product: ContentProduct
    /// The version number from the package (`ContentVersion`).
    public var version: ContentVersion
    /// The current state.
    public var state: ContentState
    /// The package's size in bytes.
    public var length: Int64
    /// The size of its files once unpacked, in bytes.
    public var unpackedLength: Int64
    /// The SHA-256 of the package.
    public var digest: BlobDigest
    /// When the store accepted the package.
    public var createdAt: Int64
    /// When the version was approved; nil if it never was.
    public var approvedAt: Int64?
    /// The states that the version has been in, oldest first. Empty in lists that do not load it.
    public var history: [Moment] = []

    /// Whether devices may download the version in an environment.
    func isDownloadable(in environment: StoreEnvironment) -> Bool {
        environment == .production ? state == .approved : state.isTestable
    }

    /// The description that devices receive.
    var hosted: HostedContent { HostedContent(version: version.text, lengths: [length]) }
}

extension HostedVersion {
    static let columns = """
        version_id, bundle_id, product_id, version, state, length, unpacked_length, sha256, created_at, approved_at
        """

    init(_ row: Row) throws {
        guard let versionID = UUID(uuidString: try row.string(0)), let version = ContentVersion(try row.string(3)),
            let state = ContentState(rawValue: try row.string(4)), let digest = BlobDigest(try row.string(7))
        else {
            throw StoreError(
                .internalError, "The database has a version of hosted content that this program cannot read.")
        }
        self.init(
            versionID: versionID,
            product: ContentProduct(ProductID(try row.string(2)), of: BundleID(try row.string(1))),
            version: version, state: state, length: try row.int64(5), unpackedLength: try row.int64(6), digest: digest,
            createdAt: try row.int64(8), approvedAt: try row.optionalInt64(9))
    }

    static func find(_ versionID: UUID, _ connection: Connection) throws -> HostedVersion? {
        guard
            let row = try connection.queryOne(
                "SELECT \(columns) FROM content_versions WHERE version_id = $1", [versionID.uuidString])
        else { return nil }
        var version = try HostedVersion(row)
        version.history = try moments(of: versionID, connection)
        return version
    }

    /// All versions of a product, newest first, without their history.
    static func all(of product: ContentProduct, _ connection: Connection) throws -> [HostedVersion] {
        try connection.query(
            "SELECT \(columns) FROM content_versions WHERE bundle_id = $1 AND product_id = $2",
            [product.bundleID.rawValue, product.productID.rawValue]
        ).map { try HostedVersion($0) }.sorted(by: isNewer)
    }

    /// Compares version numbers, and creation dates when the numbers are equal.
    static func isNewer(_ first: HostedVersion, _ second: HostedVersion) -> Bool {
        if first.version == second.version { return first.createdAt > second.createdAt }
        return first.version > second.version
    }

    private static func moments(of versionID: UUID, _ connection: Connection) throws -> [Moment] {
        try connection.query(
            "SELECT state, entered_at, reason FROM content_history WHERE version_id = $1 ORDER BY step",
            [versionID.uuidString]
        ).compactMap { row in
            try ContentState(rawValue: row.string(0)).map {
                Moment(state: $0, date: try row.int64(1), reason: try row.optionalString(2))
            }
        }
    }

    /// Appends entries to the version's history.
    func record(_ moments: [Moment], _ connection: Connection) throws {
        for (index, moment) in moments.enumerated() {
            try connection.execute(
                "INSERT INTO content_history (version_id, step, state, entered_at, reason) VALUES ($1, $2, $3, $4, $5)",
                [versionID.uuidString, history.count + index, moment.state.rawValue, moment.date, moment.reason])
        }
    }

    /// The version number without trailing zeros, so that the tables treat `1` and `1.0` as equal.
    static func key(_ version: ContentVersion) -> String {
        var numbers = version.text.split(separator: ".").compactMap { Int($0) }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        return numbers.map(String.init).joined(separator: ".")
    }

    /// Inserts a new version.
    /// - Throws: ``StoreError`` `wrong_state` when the product has a version of the same number.
    func insert(_ connection: Connection) throws {
        let inserted = try connection.execute(
            """
            INSERT INTO content_versions (\(Self.columns), version_key)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING
            """,
            [
                versionID.uuidString, product.bundleID.rawValue, product.productID.rawValue, version.text,
                state.rawValue, length, unpackedLength, digest.hexadecimal, createdAt, approvedAt, Self.key(version),
            ])
        guard inserted == 1 else {
            throw StoreError(
                .wrongState,
                "Version \(version) of \(product.productID) already exists. Give the package a higher ContentVersion, or "
                    + "remove the existing version, and complete the upload again.")
        }
    }

    /// Changes the version's state. Returns false when it has another state by now.
    func enter(_ new: ContentState, approvedAt: Int64?, _ connection: Connection) throws -> Bool {
        try connection.execute(
            "UPDATE content_versions SET state = $3, approved_at = $4 WHERE version_id = $1 AND state = $2",
            [versionID.uuidString, state.rawValue, new.rawValue, approvedAt]) == 1
    }

    /// The versions of hosted products that were not removed, without their history.
    static func hosted(_ connection: Connection) throws -> [HostedVersion] {
        try connection.query(
            """
            SELECT \(columns) FROM content_versions
            WHERE state <> 'DEVELOPER_REMOVED_FROM_SALE' AND EXISTS (
                SELECT 1 FROM hosted_products WHERE hosted_products.bundle_id = content_versions.bundle_id
                    AND hosted_products.product_id = content_versions.product_id AND is_hosted)
            """
        ).map { try HostedVersion($0) }
    }

    /// Whether a version that was not removed has these bytes.
    static func use(_ digest: BlobDigest, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT 1 FROM content_versions WHERE sha256 = $1 AND state <> $2 LIMIT 1",
            [digest.hexadecimal, ContentState.removed.rawValue]) != nil
    }

    /// The packages of versions that were not removed.
    static func contents(_ connection: Connection) throws -> [StoredContent] {
        try connection.query(
            "SELECT \(columns) FROM content_versions WHERE state <> $1", [ContentState.removed.rawValue]
        ).map {
            let version = try HostedVersion($0)
            return StoredContent(digest: version.digest, size: version.length)
        }
    }
}
