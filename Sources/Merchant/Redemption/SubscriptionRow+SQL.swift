import Database
import MerchantWire
import StoreWire

/// The table `subscriptions`.
extension SubscriptionRow {
    /// The row of a plan's subscription; nil for other kinds of products.
    static func find(of plan: RedemptionPlan, _ connection: Connection) throws -> SubscriptionRow? {
        guard plan.product.kind == .autoRenewableSubscription else { return nil }
        return try find(RedemptionKey.subscription(plan.purchase), connection)
    }

    static func find(_ key: String, _ connection: Connection) throws -> SubscriptionRow? {
        try connection.queryOne(
            """
            SELECT user_id, product_id, purchased_at, expires_at, grace_until, status_signed_at, account_token,
                period_key
            FROM subscriptions WHERE subscription_key = $1
            """, [key]
        ).map { row in
            SubscriptionRow(
                userID: UserID(try row.string(0)), productID: ProductID(try row.string(1)),
                purchasedAt: try row.int64(2), expiresAt: try row.int64(3), graceUntil: try row.optionalInt64(4),
                statusSignedAt: try row.int64(5), accountToken: try row.optionalString(6),
                periodKey: try row.optionalString(7))
        }
    }

    /// Inserts a subscription.
    /// - Parameter period: the redemption key of the purchase's period.
    static func insert(
        _ key: String, _ purchase: VerifiedPurchase, period: RedemptionKey, expiresAt: Int64, for owner: UserID,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO subscriptions (subscription_key, user_id, product_id, purchased_at, expires_at, status_signed_at,
                account_token, period_key)
            VALUES ($1, $2, $3, $4, $5, 0, $6, $7)
            """,
            [
                key, owner.rawValue, purchase.productID.rawValue, purchase.purchasedAt, expiresAt,
                purchase.accountToken, period.text,
            ])
    }

    /// Locks a subscription's row, if there is one, until the end of the transaction. Every change of a subscription
    /// and its periods locks the subscription first.
    static func lock(_ key: String, _ connection: Connection) throws {
        try connection.execute("UPDATE subscriptions SET user_id = user_id WHERE subscription_key = $1", [key])
    }

    /// Assigns a subscription without a user to its first user.
    static func claim(_ key: String, for owner: UserID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE subscriptions SET user_id = $2 WHERE subscription_key = $1 AND user_id = ''",
            [key, owner.rawValue])
    }

    static func transfer(_ key: String, to owner: UserID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE subscriptions SET user_id = $2 WHERE subscription_key = $1", [key, owner.rawValue])
    }

    /// Records a newer period. The store may have extended a known period, which keeps its later end.
    /// - Parameter period: the redemption key of the purchase's period.
    static func advance(
        _ key: String, _ purchase: VerifiedPurchase, period: RedemptionKey, expiresAt: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE subscriptions SET product_id = $2, purchased_at = $3,
                expires_at = CASE WHEN expires_at > $4 AND purchased_at / 1000 = $5 AND product_id = $2
                    THEN expires_at ELSE $4 END,
                account_token = coalesce($6, account_token), period_key = $7
            WHERE subscription_key = $1
            """,
            [
                key, purchase.productID.rawValue, purchase.purchasedAt, expiresAt, purchase.purchasedAt / 1_000,
                purchase.accountToken, period.text,
            ])
    }

    /// Ends the current period, which the store has revoked. A later purchase counts as bought anew.
    static func end(_ key: String, _ purchase: VerifiedPurchase, at moment: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $3
            WHERE subscription_key = $1 AND purchased_at / 1000 = $2 AND expires_at > $3 AND product_id = $4
            """, [key, purchase.purchasedAt / 1_000, moment, purchase.productID.rawValue])
    }

    /// Restores the end of the current period, as the purchase states it.
    static func restoreEnd(_ key: String, _ purchase: VerifiedPurchase, _ connection: Connection) throws {
        guard let expiresAt = purchase.expiresAt else { return }
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $3
            WHERE subscription_key = $1 AND purchased_at / 1000 = $2 AND expires_at < $3 AND product_id = $4
            """, [key, purchase.purchasedAt / 1_000, expiresAt, purchase.productID.rawValue])
    }
    /// Records that the store has extended the current period.
    static func extend(
        _ key: String, _ purchase: VerifiedPurchase, to expiresAt: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $2
            WHERE subscription_key = $1 AND purchased_at / 1000 = $3 AND expires_at < $2 AND product_id = $4
            """, [key, expiresAt, purchase.purchasedAt / 1_000, purchase.productID.rawValue])
    }

    /// Records the store's statement about renewal and grace period.
    /// - Parameter renewal: a statement without a member keeps the earlier value.
    static func setStatus(
        _ key: String, _ renewal: VerifiedNotification.Renewal?, graceUntil: Int64?, signedAt: Int64,
        _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE subscriptions SET status_signed_at = $2, grace_until = $3,
                will_renew = coalesce($4, will_renew), renews_as = coalesce($5, renews_as)
            WHERE subscription_key = $1
            """, [key, signedAt, graceUntil, renewal?.willRenew, renewal?.renewsAs?.rawValue])
    }
}
