import Database

extension StoreSchema {
    /// The refunds, each with its amount; changes of plan and of prices; and renewal rates of testers.
    ///
    /// Refunds of older versions gave the whole price back.
    static let refunds = Migration(
        14, "refunds and changes of plan",
        [
            """
            CREATE TABLE refunds (
                refund_id BIGINT PRIMARY KEY,
                transaction_id BIGINT NOT NULL,
                kind TEXT NOT NULL,
                amount BIGINT NOT NULL CHECK (amount > 0),
                currency TEXT NOT NULL,
                refunded_at BIGINT NOT NULL,
                is_told BOOLEAN NOT NULL,
                reversed_at BIGINT,
                reversal_reference TEXT
            ) WITHOUT ROWID
            """,
            "CREATE INDEX refunds_by_transaction ON refunds (transaction_id, refund_id)",
            "CREATE INDEX refunds_untold ON refunds (refund_id) WHERE is_told = FALSE",
            """
            INSERT INTO refunds (refund_id, transaction_id, kind, amount, currency, refunded_at, is_told)
            SELECT transaction_id, transaction_id, 'whole', price, currency, revoked_at, TRUE
            FROM transactions WHERE revoked_at IS NOT NULL AND price > 0
            """,
            "ALTER TABLE transactions ADD COLUMN is_upgraded BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE transactions ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0",
            "UPDATE transactions SET refunded = price WHERE revoked_at IS NOT NULL",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_id TEXT",
            "ALTER TABLE subscriptions ADD COLUMN rate TEXT NOT NULL DEFAULT 'real'",
            "ALTER TABLE price_increases ADD COLUMN follows_catalog BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE subscriptions ADD COLUMN price BIGINT",
            "ALTER TABLE subscriptions ADD COLUMN price_currency TEXT",
            "ALTER TABLE subscriptions ADD COLUMN price_increase TEXT",
            """
            UPDATE subscriptions SET price_increase = 'asked' WHERE EXISTS (
                SELECT 1 FROM price_increases i
                WHERE i.account_id = subscriptions.account_id AND i.bundle_id = subscriptions.bundle_id
                    AND i.product_id = subscriptions.product_id AND i.answer IS NULL)
            """,
            "ALTER TABLE accounts ADD COLUMN renewal_rate TEXT NOT NULL DEFAULT 'real'",
        ])
}
