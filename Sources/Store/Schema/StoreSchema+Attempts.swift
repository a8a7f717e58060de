import Database

extension StoreSchema {
    /// The attempts to buy that did not succeed at once, in their order. `purchases` is ordered by random keys, and an
    /// index by time would cost every purchase a write. A purchase that succeeds at once writes nothing here: its
    /// transaction stands in the ledger's order.
    static let attempts = Migration(
        12, "attempts to buy",
        [
            """
            CREATE TABLE attempts (
                attempt_id BIGINT PRIMARY KEY,
                account_id TEXT NOT NULL,
                idempotency_key TEXT NOT NULL
            ) WITHOUT ROWID
            """,
            "CREATE INDEX attempts_by_account ON attempts (account_id, attempt_id)",
            // The attempts of older versions come first. Their numbers are below all identifiers of transactions.
            """
            INSERT INTO attempts (attempt_id, account_id, idempotency_key)
            SELECT row_number() OVER (ORDER BY created_at, idempotency_key), account_id, idempotency_key
            FROM purchases WHERE state <> 'purchased'
            """,
        ])
}
