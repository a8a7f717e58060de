import Database

extension StoreSchema {
    /// Rebuilds the table of purchases with a check of `state` that uses OR instead of IN. For a list of more than two
    /// values SQLite builds a table in memory for each row written, which took a twentieth of the time of a purchase.
    static let purchasesWithoutLists = Migration(
        6, "purchases are checked without a list",
        [
            """
            CREATE TABLE purchases_checked (
                idempotency_key TEXT PRIMARY KEY,
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                quantity BIGINT NOT NULL CHECK (quantity BETWEEN 1 AND 10),
                application_username TEXT,
                state TEXT NOT NULL CHECK (state = 'purchased' OR state = 'deferred' OR state = 'failed'),
                failure_code TEXT,
                failure_message TEXT,
                transaction_id BIGINT,
                amount BIGINT NOT NULL CHECK (amount >= 0),
                currency TEXT NOT NULL,
                payment_reference TEXT,
                created_at BIGINT NOT NULL,
                promotional_offer_id TEXT,
                CHECK ((state = 'purchased') = (transaction_id IS NOT NULL)),
                CHECK ((state = 'failed') = (failure_code IS NOT NULL))
            ) WITHOUT ROWID
            """,
            """
            INSERT INTO purchases_checked (idempotency_key, account_id, bundle_id, product_id, quantity, application_username,
                state, failure_code, failure_message, transaction_id, amount, currency, payment_reference, created_at,
                promotional_offer_id)
            SELECT idempotency_key, account_id, bundle_id, product_id, quantity, application_username, state, failure_code,
                failure_message, transaction_id, amount, currency, payment_reference, created_at, promotional_offer_id
            FROM purchases ORDER BY idempotency_key
            """,
            "DROP TABLE purchases",
            "ALTER TABLE purchases_checked RENAME TO purchases",
            "CREATE INDEX purchases_deferred ON purchases (created_at) WHERE state = 'deferred'",
            "CREATE INDEX purchases_interrupted ON purchases (created_at) WHERE failure_code = 'interrupted'",
        ])

    /// The agreed first periods of subscriptions whose purchases wait.
    static let waitingSubscriptions = Migration(
        7, "waiting subscriptions",
        [
            """
            CREATE TABLE waiting_subscriptions (
                idempotency_key TEXT PRIMARY KEY,
                offer TEXT,
                period_unit TEXT NOT NULL,
                period_count BIGINT NOT NULL
            ) WITHOUT ROWID
            """
        ])

    /// The account's storefront at the time of the request. A waiting purchase is sold there, in its currency.
    static let purchaseStorefronts = Migration(
        8, "the storefronts of purchases", ["ALTER TABLE purchases ADD COLUMN storefront TEXT"])
}
