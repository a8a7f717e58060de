import BlobStorage
import Database
import Foundation
import StoreWire

/// The upload of a package. Dates are milliseconds since 1970 by production's clock.
public struct ContentUpload: Sendable, Equatable {
    /// The identifier of the upload.
    public var uploadID: UUID
    /// The product that the package is for.
    public var product: ContentProduct
    /// The package's length in bytes.
    public var length: Int64
    /// The SHA-256 that the developer announced for the package.
    public var digest: BlobDigest
    /// When the upload began.
    public var createdAt: Int64
    /// When the upload began or last received bytes. Uploads expire seven days after this date.
    public var touchedAt: Int64
    /// When the check of the package began; nil when no check is running. It stays when the package passes the check.
    public var processingAt: Int64?
    /// The version that the upload became; nil until the package passes the checks.
    public var versionID: UUID?
    /// The problems for which the package was refused; nil when it was not.
    public var findings: [UploadFinding]?
    /// The folder that has its bytes (``ContentStaging/place``); nil for an upload that an older program began.
    var place: String?
    /// The number of bytes that have arrived; 0 when they are at another process.
    public var offset: Int64 = 0
    /// Whether another process has the bytes that have arrived.
    public var isElsewhere = false

    /// Whether the upload has ended, with a version or a refusal.
    public var isSettled: Bool { versionID != nil || findings != nil }

    /// The state of the uploaded content; nil once the upload is settled, because the version then has a state of its
    /// own.
    public var state: ContentState? {
        isSettled ? nil : processingAt == nil ? .waitingForUpload : .processingContent
    }
}

/// A problem in a package.
public struct UploadFinding: Sendable, Equatable, Codable {
    /// The name of the rule that the package breaks. Names do not change between versions.
    public var rule: String
    /// The path inside the package; nil when the problem concerns the whole package.
    public var path: String?
    /// The problem, in one sentence.
    public var message: String
    /// How to fix the problem.
    public var advice: String

    /// Creates a finding.
    public init(rule: String, path: String?, message: String, advice: String) {
        self.rule = rule
        self.path = path
        self.message = message
        self.advice = advice
    }
}

/// The result of checking an uploaded package.
public enum ContentUploadOutcome: Sendable, Equatable {
    /// The package passed the checks; the store keeps it as this version.
    case kept(HostedVersion)
    /// The package failed the checks, for these reasons.
    case refused([UploadFinding])
}

extension ContentUpload {
    private static let columns = """
        upload_id, bundle_id, product_id, length, sha256, created_at, touched_at, processing_at, version_id, findings, place
        """

    private init(_ row: Row) throws {
        guard let uploadID = UUID(uuidString: try row.string(0)), let digest = BlobDigest(try row.string(4)) else {
            throw StoreError(.internalError, "The database has an upload that this program cannot read.")
        }
        self.init(
            uploadID: uploadID, product: ContentProduct(ProductID(try row.string(2)), of: BundleID(try row.string(1))),
            length: try row.int64(3), digest: digest, createdAt: try row.int64(5), touchedAt: try row.int64(6),
            processingAt: try row.optionalInt64(7),
            versionID: try row.optionalString(8).flatMap { UUID(uuidString: $0) },
            findings: try row.optionalString(9).map {
                try JSONDecoder().decode([UploadFinding].self, from: Data($0.utf8))
            }, place: try row.optionalString(10))
    }

    static func find(_ uploadID: UUID, _ connection: Connection) throws -> ContentUpload? {
        try connection.queryOne(
            "SELECT \(columns) FROM content_uploads WHERE upload_id = $1", [uploadID.uuidString]
        ).map { try ContentUpload($0) }
    }

    /// All uploads of the same file for the same product, newest first.
    static func same(as upload: ContentUpload, _ connection: Connection) throws -> [ContentUpload] {
        try connection.query(
            """
            SELECT \(columns) FROM content_uploads WHERE bundle_id = $1 AND product_id = $2 AND sha256 = $3
            ORDER BY created_at DESC
            """,
            [upload.product.bundleID.rawValue, upload.product.productID.rawValue, upload.digest.hexadecimal]
        ).map { try ContentUpload($0) }
    }

    func insert(_ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO content_uploads (upload_id, bundle_id, product_id, length, sha256, created_at, touched_at, place)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                uploadID.uuidString, product.bundleID.rawValue, product.productID.rawValue, length, digest.hexadecimal,
                createdAt, touchedAt, place,
            ])
    }

    /// Tells the processes that the check of the upload began or ended, for which the answer does not wait. Of uploads
    /// they keep only that one is being checked (``HostedProduct/state``), so they need not hear of an upload's
    /// beginning or of its bytes.
    private func announceCheck(_ connection: Connection) throws {
        try connection.announce("content", ManagedPart(product).detail, isAwaited: false)
    }

    /// Deletes the upload's row.
    func remove(_ connection: Connection) throws {
        try connection.execute("DELETE FROM content_uploads WHERE upload_id = $1", [uploadID.uuidString])
        if state == .processingContent { try announceCheck(connection) }
    }

    /// The uploads of a product that did not become a version, oldest first.
    static func all(of product: ContentProduct, _ connection: Connection) throws -> [ContentUpload] {
        try connection.query(
            """
            SELECT \(columns) FROM content_uploads
            WHERE bundle_id = $1 AND product_id = $2 AND version_id IS NULL ORDER BY created_at
            """, [product.bundleID.rawValue, product.productID.rawValue]
        ).map { try ContentUpload($0) }
    }

    /// The uploads that are not settled.
    static func open(_ connection: Connection) throws -> [ContentUpload] {
        try connection.query(
            "SELECT \(columns) FROM content_uploads WHERE version_id IS NULL AND findings IS NULL"
        ).map { try ContentUpload($0) }
    }

    /// The uploads that received no bytes since a date, and are not being checked since.
    static func untouched(since date: Int64, _ connection: Connection) throws -> [ContentUpload] {
        try connection.query(
            """
            SELECT \(columns) FROM content_uploads
            WHERE touched_at < $1 AND (processing_at IS NULL OR processing_at < $1)
            """, [date]
        ).map { try ContentUpload($0) }
    }

    /// Whether an upload with these bytes is being checked.
    static func isChecked(_ digest: BlobDigest, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT 1 FROM content_uploads WHERE sha256 = $1 AND processing_at IS NOT NULL AND version_id IS NULL LIMIT 1",
            [digest.hexadecimal]) != nil
    }

    /// Records that bytes arrived.
    static func touch(_ uploadID: UUID, at now: Int64, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE content_uploads SET touched_at = $2 WHERE upload_id = $1", [uploadID.uuidString, now])
    }

    /// Records that a check began, or that it ended without a result (nil).
    func setCheck(since: Int64?, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE content_uploads SET processing_at = $2 WHERE upload_id = $1", [uploadID.uuidString, since])
        try announceCheck(connection)
    }

    /// Ends the checks of a folder's uploads, which a process that was killed left behind.
    /// - Parameter isAlone: whether the checks of uploads that an older program began end, too.
    static func endChecks(in place: String, isAlone: Bool, _ connection: Connection) throws {
        let others = isAlone ? "OR place IS NULL" : ""
        let ended = try connection.execute(
            """
            UPDATE content_uploads SET processing_at = NULL
            WHERE processing_at IS NOT NULL AND version_id IS NULL AND (place = $1 \(others))
            """, [place])
        if ended > 0 { try connection.announce("content", isAwaited: false) }
    }

    /// Records the version that an upload became. Returns false when the upload is settled or was removed.
    func settle(as versionID: UUID, _ connection: Connection) throws -> Bool {
        try announceCheck(connection)
        return try connection.execute(
            "UPDATE content_uploads SET version_id = $2 WHERE upload_id = $1 AND version_id IS NULL AND findings IS NULL",
            [uploadID.uuidString, versionID.uuidString]) == 1
    }

    /// Records why a package was refused.
    func refuse(_ findings: [UploadFinding], _ connection: Connection) throws {
        let text = String(decoding: try JSONEncoder().encode(findings), as: UTF8.self)
        try connection.execute(
            "UPDATE content_uploads SET findings = $2, processing_at = NULL WHERE upload_id = $1",
            [uploadID.uuidString, text])
        try announceCheck(connection)
    }
}
