import Database

extension StoreSchema {
    /// The codes for offers of subscriptions, and the kinds of the offers that were used.
    ///
    /// `promotional_offer_id` and `next_offer_id` hold the name of any offer. Rows of older versions have promotional
    /// offers only, and no kind.
    static let offerCodes = Migration(
        16, "offer codes",
        [
            "ALTER TABLE purchases ADD COLUMN offer_kind TEXT",
            "ALTER TABLE transactions ADD COLUMN offer_kind TEXT",
            "ALTER TABLE subscriptions ADD COLUMN next_offer_kind TEXT",
            // A batch of one-time codes, or one custom code. `total` counts the codes, or the redemptions of a custom
            // code.
            """
            CREATE TABLE offer_code_batches (
                batch_id TEXT PRIMARY KEY,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                offer TEXT NOT NULL,
                custom_code TEXT,
                total BIGINT NOT NULL CHECK (total > 0),
                redeemed BIGINT NOT NULL CHECK (redeemed BETWEEN 0 AND total),
                created_at BIGINT NOT NULL,
                expires_at BIGINT,
                is_active BOOLEAN NOT NULL
            )
            """,
            """
            CREATE UNIQUE INDEX offer_code_batches_custom ON offer_code_batches (bundle_id, custom_code)
            WHERE custom_code IS NOT NULL
            """,
            """
            CREATE TABLE offer_codes (
                code TEXT PRIMARY KEY,
                batch_id TEXT NOT NULL,
                account_id TEXT
            ) WITHOUT ROWID
            """,
            "CREATE INDEX offer_codes_by_batch ON offer_codes (batch_id, code)",
            // A customer redeems one code of an offer.
            """
            CREATE TABLE offer_code_redemptions (
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                offer TEXT NOT NULL,
                batch_id TEXT NOT NULL,
                code TEXT NOT NULL,
                transaction_id BIGINT NOT NULL,
                redeemed_at BIGINT NOT NULL,
                PRIMARY KEY (account_id, bundle_id, product_id, offer)
            )
            """,
        ])
}
