import Database

extension StoreSchema {
    /// What is kept of promotional offers.
    static let promotionalOffers = Migration(
        3, "promotional offers",
        [
            "ALTER TABLE purchases ADD COLUMN promotional_offer_id TEXT",
            "ALTER TABLE transactions ADD COLUMN promotional_offer_id TEXT",
            // A signature is good for one purchase.
            """
            CREATE TABLE offer_nonces (
                nonce TEXT PRIMARY KEY,
                idempotency_key TEXT NOT NULL
            )
            """,
        ])
}
