import Database
import StoreWire

/// The table `subscription_periods`.
extension Subscription.Period {
    /// Returns the known periods of a subscription.
    static func all(of key: String, _ connection: Connection) throws -> [Subscription.Period] {
        try connection.query(
            """
            SELECT period_key, product_id, purchased_at, expires_at, account_token, token_signed_at, upgraded_at,
                refunded_at, revoked_at, refund_signed_at, grace_until, grace_signed_at, end_signed_at
            FROM subscription_periods WHERE subscription_key = $1
            """, [key]
        ).map { row in
            var period = Subscription.Period(
                key: RedemptionKey(text: try row.string(0)), productID: ProductID(try row.string(1)),
                purchasedAt: try row.int64(2), expiresAt: try row.int64(3), endSignedAt: try row.int64(12),
                upgradedAt: try row.optionalInt64(6), refundedAt: try row.optionalInt64(7))
            if let token = try row.optionalString(4), let signedAt = try row.optionalInt64(5) {
                period.accountToken = .init(value: token, signedAt: signedAt)
            }
            if let signedAt = try row.optionalInt64(9) {
                period.refund = .init(value: try row.optionalInt64(8), signedAt: signedAt)
            }
            if let signedAt = try row.optionalInt64(11) {
                period.grace = .init(value: try row.optionalInt64(10), signedAt: signedAt)
            }
            return period
        }
    }

    /// Writes the period.
    /// - Parameter subscription: the subscription's key.
    func write(_ subscription: String, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO subscription_periods (subscription_key, period_key, product_id, purchased_at, expires_at,
                account_token, token_signed_at, upgraded_at, refunded_at, revoked_at, refund_signed_at, grace_until,
                grace_signed_at, end_signed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
            ON CONFLICT (subscription_key, period_key) DO UPDATE SET product_id = excluded.product_id,
                purchased_at = excluded.purchased_at, expires_at = excluded.expires_at,
                account_token = excluded.account_token, token_signed_at = excluded.token_signed_at,
                upgraded_at = excluded.upgraded_at, refunded_at = excluded.refunded_at,
                revoked_at = excluded.revoked_at, refund_signed_at = excluded.refund_signed_at,
                grace_until = excluded.grace_until, grace_signed_at = excluded.grace_signed_at,
                end_signed_at = excluded.end_signed_at
            """,
            [
                subscription, key.text, productID.rawValue, purchasedAt, expiresAt, accountToken?.value,
                accountToken?.signedAt, upgradedAt, refundedAt, revokedAt, refund?.signedAt, grace.flatMap(\.value),
                grace?.signedAt, endSignedAt,
            ])
    }
}
