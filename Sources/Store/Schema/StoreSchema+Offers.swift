import Database

extension StoreSchema {
    /// The columns and the table for promotional offers.
    static let promotionalOffers = Migration(
        3, "promotional offers",
        [
            "ALTER TABLE purchases ADD COLUMN promotional_offer_id TEXT",
            "ALTER TABLE transactions ADD COLUMN promotional_offer_id TEXT",
            // A signature is valid for one purchase.
            """
            CREATE TABLE offer_nonces (
                nonce TEXT PRIMARY KEY,
                idempotency_key TEXT NOT NULL
            )
            """,
        ])
}
