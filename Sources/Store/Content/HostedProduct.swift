import Database
import Foundation
import StoreWire

/// The hosting of a product, as the operator sees it.
public struct HostedProduct: Sendable, Equatable {
    /// The product and its app.
    public var product: ContentProduct
    /// Whether hosting is on.
    public var isHosted: Bool
    /// Whether a version was ever approved. If so, hosting cannot be turned off.
    public var wasLive: Bool
    /// The review rule for submitted versions.
    public var review: ContentReview
    /// All versions, newest first.
    public var versions: [HostedVersion]
    /// The open uploads, and those that were refused in the last seven days.
    public var uploads: [ContentUpload]

    /// Processing Content while an upload is being checked, else the newest version's state; Waiting for Upload without
    /// one.
    public var state: ContentState {
        uploads.compactMap(\.state).contains(.processingContent)
            ? .processingContent : versions.first?.state ?? .waitingForUpload
    }
}

extension HostedProduct {
    static func isHosted(_ product: ContentProduct, _ connection: Connection) throws -> Bool {
        try isDecided(product, connection) ?? false
    }

    /// Whether hosting is on for a product; nil when it was never turned on or off.
    static func isDecided(_ product: ContentProduct, _ connection: Connection) throws -> Bool? {
        try connection.queryOne(
            "SELECT is_hosted FROM hosted_products WHERE bundle_id = $1 AND product_id = $2",
            [product.bundleID.rawValue, product.productID.rawValue]
        )?.bool(0)
    }

    /// Turns hosting of a product on or off.
    /// - Parameter part: what other processes read again; nil for the product alone. The announcements of very many
    ///   products would not fit.
    static func set(
        _ product: ContentProduct, isHosted: Bool, in part: ManagedPart? = nil, at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO hosted_products (bundle_id, product_id, is_hosted, changed_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (bundle_id, product_id) DO UPDATE SET is_hosted = excluded.is_hosted,
                changed_at = excluded.changed_at
            """, [product.bundleID.rawValue, product.productID.rawValue, isHosted, now])
        try connection.announce("content", (part ?? ManagedPart(product)).detail)
    }

    /// Sets the review rule of a product; nil for the app's rule.
    static func setReview(
        _ review: ContentReview, of bundleID: BundleID, _ productID: ProductID?, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO content_rules (bundle_id, product_id, review) VALUES ($1, $2, $3)
            ON CONFLICT (bundle_id, product_id) DO UPDATE SET review = excluded.review
            """, [bundleID.rawValue, productID?.rawValue ?? "", review.rawValue])
    }

    static func off(_ product: ContentProduct) -> StoreError {
        StoreError(
            .wrongState,
            "Hosting is not turned on for \(product.productID). Turn it on with “cornerstore content host”, or write hosted: true "
                + "in the catalog.")
    }

    /// The review rule for a product: its own rule, else the app's, else manual review.
    static func review(_ product: ContentProduct, _ connection: Connection) throws -> ContentReview {
        let rows = try connection.query(
            "SELECT product_id, review FROM content_rules WHERE bundle_id = $1 AND (product_id = $2 OR product_id = '')",
            [product.bundleID.rawValue, product.productID.rawValue])
        let rules = try rows.map { (try $0.string(0), ContentReview(rawValue: try $0.string(1))) }
        return (rules.first { !$0.0.isEmpty } ?? rules.first)?.1 ?? .manual
    }

    /// The products for which hosting was ever turned on or off, in the order of apps and products.
    static func all(bundleID: BundleID?, productID: ProductID?, _ connection: Connection) throws -> [HostedProduct] {
        try connection.query(
            """
            SELECT bundle_id, product_id, is_hosted FROM hosted_products
            WHERE (CAST($1 AS TEXT) IS NULL OR bundle_id = $1) AND (CAST($2 AS TEXT) IS NULL OR product_id = $2)
            ORDER BY bundle_id, product_id
            """, [bundleID?.rawValue, productID?.rawValue]
        ).map { row in
            let product = ContentProduct(ProductID(try row.string(1)), of: BundleID(try row.string(0)))
            let versions = try HostedVersion.all(of: product, connection).compactMap {
                try HostedVersion.find($0.versionID, connection)
            }
            let uploads = try ContentUpload.all(of: product, connection)
            return HostedProduct(
                product: product, isHosted: try row.bool(2), wasLive: versions.contains { $0.approvedAt != nil },
                review: try review(product, connection), versions: versions, uploads: uploads)
        }
    }
}
