import Database

extension StoreSchema {
    /// The requests of accounts that ask before they buy an item (Ask to Buy).
    static let itemRequests = Migration(
        10, "requests for items",
        [
            """
            CREATE TABLE item_requests (
                idempotency_key TEXT PRIMARY KEY,
                account_id TEXT NOT NULL,
                item BIGINT NOT NULL,
                price BIGINT NOT NULL CHECK (price >= 0),
                currency TEXT NOT NULL,
                storefront TEXT NOT NULL,
                state TEXT NOT NULL CHECK (
                    state = 'waiting' OR state = 'approved' OR state = 'declined' OR state = 'failed'),
                failure_code TEXT,
                failure_message TEXT,
                created_at BIGINT NOT NULL,
                CHECK ((state = 'failed') = (failure_code IS NOT NULL))
            ) WITHOUT ROWID
            """,
            // An account asks for an item once at a time.
            "CREATE UNIQUE INDEX item_requests_waiting ON item_requests (account_id, item) WHERE state = 'waiting'",
            "CREATE INDEX item_requests_by_time ON item_requests (created_at) WHERE state = 'waiting'",
        ])
}
