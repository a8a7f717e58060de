import Database
import Foundation
import StoreWire

/// What the operator sees of a product's hosting.
public struct HostedProduct: Sendable, Equatable {
    /// The product and its app.
    public var product: ContentProduct
    /// Whether hosting is on.
    public var isHosted: Bool
    /// Whether a version was ever approved; hosting stays on then.
    public var wasLive: Bool
    /// Who decides about what is submitted.
    public var review: ContentReview
    /// Newest first.
    public var versions: [HostedVersion]
    /// What is on its way, and what was refused in the last seven days.
    public var uploads: [ContentUpload]

    /// The state of the newest that there is; Waiting for Upload before anything is.
    public var state: ContentState {
        uploads.compactMap(\.state).contains(.processingContent)
            ? .processingContent : versions.first?.state ?? .waitingForUpload
    }
}

extension HostedProduct {
    static func isHosted(_ product: ContentProduct, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT is_hosted FROM hosted_products WHERE bundle_id = $1 AND product_id = $2",
            [product.bundleID.rawValue, product.productID.rawValue]
        )?.bool(0) ?? false
    }

    static func off(_ product: ContentProduct) -> StoreError {
        StoreError(
            .wrongState,
            "Hosting is not turned on for \(product.productID). Turn it on with “cornerstore content host”, or write hosted: true "
                + "in the catalog.")
    }

    /// The rule for a product: its own, else the app's, else manual review.
    static func review(_ product: ContentProduct, _ connection: Connection) throws -> ContentReview {
        let rows = try connection.query(
            "SELECT product_id, review FROM content_rules WHERE bundle_id = $1 AND (product_id = $2 OR product_id = '')",
            [product.bundleID.rawValue, product.productID.rawValue])
        let rules = try rows.map { (try $0.string(0), ContentReview(rawValue: try $0.string(1))) }
        return (rules.first { !$0.0.isEmpty } ?? rules.first)?.1 ?? .manual
    }

    /// Those for which hosting was ever turned on, by app and product.
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
            let uploads = try connection.query(
                """
                SELECT \(ContentUpload.columns) FROM content_uploads
                WHERE bundle_id = $1 AND product_id = $2 AND version_id IS NULL ORDER BY created_at
                """, [product.bundleID.rawValue, product.productID.rawValue]
            ).map { try ContentUpload($0) }
            return HostedProduct(
                product: product, isHosted: try row.bool(2), wasLive: versions.contains { $0.approvedAt != nil },
                review: try review(product, connection), versions: versions, uploads: uploads)
        }
    }
}
