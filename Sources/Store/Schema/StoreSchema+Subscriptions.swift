import Database

extension StoreSchema {
    /// The subscriptions and their news.
    ///
    /// Subscriptions of older versions were sold for one period. They end with it: their rows do not renew, and the
    /// next purchase in the group continues the identifiers of the last one.
    static let subscriptions = Migration(
        13, "subscriptions",
        [
            """
            CREATE TABLE subscriptions (
                original_transaction_id BIGINT PRIMARY KEY,
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                subscription_group_id TEXT NOT NULL,
                original_purchase_date BIGINT NOT NULL,
                state TEXT NOT NULL,
                product_id TEXT NOT NULL,
                transaction_id BIGINT NOT NULL,
                expires_date BIGINT NOT NULL,
                renewal_product_id TEXT NOT NULL,
                will_renew BOOLEAN NOT NULL,
                next_line_item_id BIGINT NOT NULL,
                renewals BIGINT NOT NULL,
                offer_periods_left BIGINT,
                offer_period_unit TEXT,
                offer_period_count BIGINT,
                grace_ends BIGINT,
                expiration_intent BIGINT,
                due_at BIGINT,
                revision BIGINT NOT NULL,
                UNIQUE (account_id, bundle_id, subscription_group_id)
            ) WITHOUT ROWID
            """,
            """
            CREATE INDEX subscriptions_due ON subscriptions (due_at, original_transaction_id) WHERE due_at IS NOT NULL
            """,
            // Numbers grow with time.
            """
            CREATE TABLE subscription_news (
                number BIGINT PRIMARY KEY,
                original_transaction_id BIGINT NOT NULL,
                type TEXT NOT NULL,
                subtype TEXT,
                date BIGINT NOT NULL,
                transaction_id BIGINT NOT NULL
            ) WITHOUT ROWID
            """,
            "CREATE INDEX subscription_news_by_subscription ON subscription_news (original_transaction_id, number)",
            """
            INSERT INTO subscriptions (original_transaction_id, account_id, bundle_id, subscription_group_id,
                original_purchase_date, state, product_id, transaction_id, expires_date, renewal_product_id, will_renew,
                next_line_item_id, renewals, due_at, revision)
            SELECT original_transaction_id, account_id, bundle_id, subscription_group_id, original_purchase_date,
                CASE WHEN revoked_at IS NULL THEN 'active' ELSE 'revoked' END, product_id, transaction_id, expires_date,
                product_id, FALSE, web_order_line_item_id + 1, 0,
                CASE WHEN revoked_at IS NULL THEN expires_date END, 0
            FROM transactions
            WHERE transaction_id IN (
                SELECT max(transaction_id) FROM transactions
                WHERE kind = 'autoRenewableSubscription' AND subscription_group_id IS NOT NULL
                    AND expires_date IS NOT NULL AND web_order_line_item_id IS NOT NULL
                GROUP BY account_id, bundle_id, subscription_group_id)
            """,
        ])
}
