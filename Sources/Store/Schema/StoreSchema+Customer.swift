import Database

extension StoreSchema {
    /// The tables for interrupted purchases, refunds, promoted purchases, price increases and codes.
    static let customer = Migration(
        4, "refunds, promoted purchases, price increases and codes",
        [
            "ALTER TABLE accounts ADD COLUMN interrupts_purchases BOOLEAN NOT NULL DEFAULT FALSE",
            "CREATE INDEX purchases_deferred ON purchases (created_at) WHERE state = 'deferred'",
            "CREATE INDEX purchases_interrupted ON purchases (created_at) WHERE failure_code = 'interrupted'",
            // The refunds for devices, numbered for each account and app. Dates cannot serve as cursors because the
            // clock can go back.
            """
            CREATE TABLE revocations (
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                number BIGINT NOT NULL,
                product_id TEXT NOT NULL,
                transaction_id BIGINT NOT NULL,
                PRIMARY KEY (account_id, bundle_id, number)
            )
            """,
            """
            CREATE TABLE promotions (
                account_id TEXT NOT NULL,
                promotion_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                created_at BIGINT NOT NULL,
                PRIMARY KEY (account_id, promotion_id)
            )
            """,
            """
            CREATE TABLE price_increases (
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                old_price BIGINT NOT NULL CHECK (old_price >= 0),
                new_price BIGINT NOT NULL CHECK (new_price > old_price),
                currency TEXT NOT NULL,
                asked_at BIGINT NOT NULL,
                answer TEXT CHECK (answer IN ('accepted', 'declined')),
                answered_at BIGINT,
                PRIMARY KEY (account_id, bundle_id, product_id),
                CHECK ((answer IS NULL) = (answered_at IS NULL))
            )
            """,
            """
            CREATE TABLE redemption_codes (
                code TEXT PRIMARY KEY,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                created_at BIGINT NOT NULL,
                account_id TEXT,
                transaction_id BIGINT,
                CHECK ((account_id IS NULL) = (transaction_id IS NULL))
            )
            """,
        ])
}
