import Database
import StoreWire

/// The table `early_extensions`: the subscriptions that an open request for all subscriptions of a product extended, or
/// could not extend, before it came to them. Something later was due for them, or their customer wanted something.
enum EarlyExtensions {
    /// Whether a request is done with a subscription that it has not come to.
    static func contain(
        _ original: TransactionID, of request: MassExtensionRequest, _ connection: Connection
    ) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM early_extensions
            WHERE bundle_id = $1 AND product_id = $2 AND request_id = $3 AND original_transaction_id = $4
            """,
            [
                request.bundleID.rawValue, request.productID.rawValue, request.terms.identifier.key, original.rawValue,
            ]) != nil
    }

    /// Records that a request is done with a subscription.
    /// - Parameter succeeded: whether it extended the subscription.
    static func insert(
        _ original: TransactionID, of request: MassExtensionRequest, succeeded: Bool, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO early_extensions (bundle_id, product_id, request_id, original_transaction_id, succeeded)
            VALUES ($1, $2, $3, $4, $5)
            """,
            [
                request.bundleID.rawValue, request.productID.rawValue, request.terms.identifier.key, original.rawValue,
                succeeded,
            ])
    }

    /// Deletes the rows of a request that has come to a subscription, and counts them.
    /// - Parameter end: the last subscription that the request came to; nil when it came to all.
    static func take(
        upTo end: TransactionID?, of request: MassExtensionRequest, _ connection: Connection
    ) throws -> (succeeded: Int, failed: Int) {
        let results = try connection.query(
            """
            DELETE FROM early_extensions
            WHERE bundle_id = $1 AND product_id = $2 AND request_id = $3 AND original_transaction_id <= $4
            RETURNING succeeded
            """,
            [
                request.bundleID.rawValue, request.productID.rawValue, request.terms.identifier.key,
                end?.rawValue ?? Int64.max,
            ]
        ).map { try $0.bool(0) }
        let succeeded = results.count { $0 }
        return (succeeded, results.count - succeeded)
    }
}
