import Database

extension StoreSchema {
    /// The contents of subscription news: how each period was paid, and the state when the news was written.
    ///
    /// News of older versions have no snapshot, and their subscriptions no start after a gap. Of their periods, those
    /// count as renewals that begin where an earlier one ends; of an offer, only a free trial is known.
    static let snapshots = Migration(
        17, "snapshots of news",
        [
            "ALTER TABLE subscription_news ADD COLUMN snapshot TEXT",
            "ALTER TABLE subscriptions ADD COLUMN recent_start_date BIGINT",
            "ALTER TABLE transactions ADD COLUMN is_renewal BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE transactions ADD COLUMN offer_mode TEXT",
            "ALTER TABLE transactions ADD COLUMN offer_period TEXT",
            """
            UPDATE transactions SET is_renewal = TRUE
            WHERE kind = 'autoRenewableSubscription' AND EXISTS (
                SELECT 1 FROM transactions AS earlier
                WHERE earlier.account_id = transactions.account_id AND earlier.bundle_id = transactions.bundle_id
                    AND earlier.kind <> 'consumable'
                    AND earlier.original_transaction_id = transactions.original_transaction_id
                    AND earlier.expires_date = transactions.purchase_date)
            """,
            "UPDATE transactions SET offer_mode = 'free' WHERE offer = 'trial'",
        ])
}
