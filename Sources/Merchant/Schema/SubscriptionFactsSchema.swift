/// Keeps what is known of each subscription (``Subscription``), so that facts count in whatever order they arrive.
///
/// The columns `product_id`, `purchased_at`, `expires_at` and `period_key` of `subscriptions` are those of the newest
/// period. `account_token`, `grace_until` and `status_signed_at` are read only for a subscription without periods: an
/// earlier program wrote it, and the next change writes its periods.
enum SubscriptionFactsSchema {
    static let statements = [
        """
        CREATE TABLE subscription_periods (
            subscription_key TEXT NOT NULL,
            period_key TEXT NOT NULL,
            product_id TEXT NOT NULL,
            purchased_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            account_token TEXT,
            token_signed_at BIGINT,
            upgraded_at BIGINT,
            refunded_at BIGINT,
            revoked_at BIGINT,
            refund_signed_at BIGINT,
            grace_until BIGINT,
            grace_signed_at BIGINT,
            PRIMARY KEY (subscription_key, period_key)
        ) WITHOUT ROWID
        """,
        "ALTER TABLE subscriptions ADD COLUMN will_renew_signed_at BIGINT",
        "ALTER TABLE subscriptions ADD COLUMN renews_as_signed_at BIGINT",
        // The rights of users whose subscription has moved to another user: no period gives them any longer.
        """
        UPDATE entitlements SET granted_by = ''
        WHERE revoked_at IS NOT NULL AND expires_at IS NOT NULL AND lifetime IS NULL
            AND source IN (SELECT source FROM transferred_rights)
            AND NOT EXISTS (SELECT 1 FROM subscriptions
                WHERE subscription_key = entitlements.source AND subscriptions.user_id = entitlements.user_id)
        """,
    ]

    /// Keeps when the end of each period was signed, so that a later statement replaces it whether it is earlier or
    /// later. An earlier program kept the latest end of all statements. It counts against those that were signed before
    /// the newest one that the program knew.
    static let signedEnds =
        ["ALTER TABLE subscription_periods ADD COLUMN end_signed_at BIGINT NOT NULL DEFAULT 0"]
        + ["token_signed_at", "refund_signed_at", "grace_signed_at"].map { column in
            "UPDATE subscription_periods SET end_signed_at = \(column) WHERE \(column) > end_signed_at"
        }
        + [
            """
            UPDATE subscription_periods SET end_signed_at = (
                SELECT state_signed_at FROM redemptions WHERE redemption_key = subscription_periods.period_key)
            WHERE EXISTS (
                SELECT 1 FROM redemptions WHERE redemption_key = subscription_periods.period_key
                    AND state_signed_at > subscription_periods.end_signed_at)
            """,
            """
            UPDATE subscription_periods SET end_signed_at = (
                SELECT will_renew_signed_at FROM subscriptions
                WHERE subscriptions.subscription_key = subscription_periods.subscription_key)
            WHERE EXISTS (
                SELECT 1 FROM subscriptions
                WHERE subscriptions.subscription_key = subscription_periods.subscription_key
                    AND will_renew_signed_at > subscription_periods.end_signed_at)
            """,
        ]

    /// Keeps when the store should be asked about each subscription; null for never. A subscription of an earlier
    /// program is asked about after its end, unless the store has said that it does not renew.
    static let questions = [
        "ALTER TABLE subscriptions ADD COLUMN ask_after BIGINT",
        "UPDATE subscriptions SET ask_after = expires_at + 600000 WHERE will_renew IS NULL OR will_renew",
        """
        CREATE INDEX subscriptions_to_ask_about ON subscriptions (ask_after, subscription_key)
        WHERE ask_after IS NOT NULL
        """,
    ]
}
