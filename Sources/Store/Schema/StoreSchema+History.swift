import Database

extension StoreSchema {
    /// When a transaction changed last, as a number of the series of identifiers: null until it changes.
    static let history = Migration(
        18, "history of transactions",
        [
            "ALTER TABLE transactions ADD COLUMN changed BIGINT",
            // All deliveries of a product change at once, under one number.
            """
            CREATE INDEX transactions_changed ON transactions (account_id, bundle_id, changed, transaction_id)
            WHERE changed IS NOT NULL
            """,
            // The customer's refunds, in their order.
            """
            CREATE INDEX transactions_refunded ON transactions (account_id, bundle_id, revoked_at, transaction_id)
            WHERE revoked_at IS NOT NULL
            """,
            // For the highest number. Later identifiers must be higher.
            "CREATE INDEX transactions_last_change ON transactions (changed) WHERE changed IS NOT NULL",
        ])
}
