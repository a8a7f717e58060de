import Database

extension StoreSchema {
    /// The purchases of the storefront's items. Their identifiers come from the same series as those of transactions.
    static let itemPurchases = Migration(
        9, "item purchases",
        [
            """
            CREATE TABLE item_purchases (
                transaction_id BIGINT PRIMARY KEY,
                account_id TEXT NOT NULL,
                item BIGINT NOT NULL,
                idempotency_key TEXT NOT NULL UNIQUE,
                price BIGINT NOT NULL CHECK (price >= 0),
                currency TEXT NOT NULL,
                storefront TEXT NOT NULL,
                version TEXT,
                payment_reference TEXT NOT NULL,
                purchase_date BIGINT NOT NULL,
                revoked_at BIGINT,
                revocation_reason BIGINT,
                CHECK ((revoked_at IS NULL) = (revocation_reason IS NULL))
            ) WITHOUT ROWID
            """,
            // An account pays for an item once, unless the purchase was refunded.
            "CREATE UNIQUE INDEX item_purchases_owned ON item_purchases (account_id, item) WHERE revoked_at IS NULL",
            "CREATE INDEX item_purchases_by_account ON item_purchases (account_id, transaction_id)",
        ])

    /// The sales of the partner feed's ranks, by storefront and time.
    static let itemSales = Migration(
        11, "sales of items",
        [
            """
            CREATE INDEX item_purchases_sold ON item_purchases (storefront, purchase_date, item)
            WHERE revoked_at IS NULL
            """
        ])
}
