import Database
import StoreWire

/// A batch of one-time codes, or a custom code, for an offer of a subscription.
public struct OfferCodeBatch: Sendable, Equatable {
    /// The batch's identifier.
    public var batchID: String
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The subscription that the codes give.
    public var productID: ProductID
    /// The reference name of the offer.
    public var offer: String
    /// The custom code, in capital letters and digits; nil for a batch of one-time codes.
    public var customCode: String?
    /// The number of codes, or how often a custom code can be redeemed.
    public var total: Int
    /// How many codes were redeemed, or how often the custom code was.
    public var redeemed: Int
    /// When the batch was created, in milliseconds since 1970 by the store's clock.
    public var createdAt: Int64
    /// When the codes expire; nil for never.
    public var expiresAt: Int64?
    /// Whether the codes can be redeemed, as long as they have not expired.
    public var isActive: Bool

    /// The offer of the codes.
    var named: NamedOffer { NamedOffer(.code, offer) }
}

/// The table `offer_code_batches`.
enum OfferCodeBatches {
    private static let columns = """
        batch_id, bundle_id, product_id, offer, custom_code, total, redeemed, created_at, expires_at, is_active
        """

    static func find(_ id: String, _ connection: Connection) throws -> OfferCodeBatch? {
        try connection.queryOne("SELECT \(columns) FROM offer_code_batches WHERE batch_id = $1", [id]).map {
            try OfferCodeBatch($0)
        }
    }

    /// The batch of an app's custom code.
    static func find(custom code: String, in bundleID: BundleID, _ connection: Connection) throws -> OfferCodeBatch? {
        try connection.queryOne(
            "SELECT \(columns) FROM offer_code_batches WHERE bundle_id = $1 AND custom_code = $2",
            [bundleID.rawValue, code]
        ).map { try OfferCodeBatch($0) }
    }

    /// The newest batches, the newest first.
    static func newest(limit: Int, _ connection: Connection) throws -> [OfferCodeBatch] {
        try connection.query(
            "SELECT \(columns) FROM offer_code_batches ORDER BY created_at DESC, batch_id DESC LIMIT $1", [limit]
        ).map { try OfferCodeBatch($0) }
    }

    /// The codes of an app that were created in a range of dates, and the redemptions that its custom codes allow.
    static func count(in bundleID: BundleID, during dates: Range<Int64>, _ connection: Connection) throws -> Int {
        try connection.queryOne(
            """
            SELECT CAST(coalesce(sum(total), 0) AS BIGINT) FROM offer_code_batches
            WHERE bundle_id = $1 AND created_at >= $2 AND created_at < $3
            """,
            [bundleID.rawValue, dates.lowerBound, dates.upperBound])?.int(0) ?? 0
    }

    static func insert(_ batch: OfferCodeBatch, _ connection: Connection) throws {
        try connection.execute(
            "INSERT INTO offer_code_batches (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            [
                .text(batch.batchID), .text(batch.bundleID.rawValue), .text(batch.productID.rawValue),
                .text(batch.offer), SQLValue(batch.customCode), .integer(Int64(batch.total)),
                .integer(Int64(batch.redeemed)), .integer(batch.createdAt), SQLValue(batch.expiresAt),
                .boolean(batch.isActive),
            ] as [SQLValue])
    }

    static func deactivate(_ id: String, _ connection: Connection) throws {
        try connection.execute("UPDATE offer_code_batches SET is_active = FALSE WHERE batch_id = $1", [id])
    }

    /// Counts a redemption. Returns false when the batch is used up, expired or inactive.
    static func countRedemption(_ id: String, at date: Int64, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE offer_code_batches SET redeemed = redeemed + 1
            WHERE batch_id = $1 AND redeemed < total AND is_active = TRUE
                AND (expires_at IS NULL OR expires_at > $2)
            """, [id, date]) == 1
    }
}

extension OfferCodeBatch {
    fileprivate init(_ row: Row) throws {
        self.init(
            batchID: try row.string(0), bundleID: BundleID(try row.string(1)),
            productID: ProductID(try row.string(2)), offer: try row.string(3), customCode: try row.optionalString(4),
            total: try row.int(5), redeemed: try row.int(6), createdAt: try row.int64(7),
            expiresAt: try row.optionalInt64(8), isActive: try row.bool(9))
    }
}
