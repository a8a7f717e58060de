import Database

extension StoreSchema {
    /// The requests of the App Store Server API for later renewal dates: those of one subscription that were granted,
    /// and those of all subscriptions of a product with their progress.
    static let extensions = Migration(
        20, "requests for extensions",
        [
            """
            CREATE TABLE extension_requests (
                original_transaction_id BIGINT NOT NULL,
                request_id TEXT NOT NULL,
                transaction_id BIGINT NOT NULL,
                days BIGINT NOT NULL CHECK (days BETWEEN 1 AND 90),
                reason BIGINT NOT NULL CHECK (reason BETWEEN 0 AND 3),
                effective_date BIGINT NOT NULL,
                extended_at BIGINT NOT NULL,
                PRIMARY KEY (original_transaction_id, request_id)
            ) WITHOUT ROWID
            """,
            // The subscriptions up to the last one are done.
            """
            CREATE TABLE mass_extensions (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                request_id TEXT NOT NULL,
                request_identifier TEXT NOT NULL,
                days BIGINT NOT NULL CHECK (days BETWEEN 1 AND 90),
                reason BIGINT NOT NULL CHECK (reason BETWEEN 0 AND 3),
                storefronts TEXT,
                accepted_at BIGINT NOT NULL,
                last_original_id BIGINT NOT NULL,
                succeeded BIGINT NOT NULL,
                failed BIGINT NOT NULL,
                completed_at BIGINT,
                PRIMARY KEY (bundle_id, product_id, request_id)
            ) WITHOUT ROWID
            """,
            """
            CREATE INDEX mass_extensions_open ON mass_extensions (accepted_at, bundle_id, product_id, request_id)
            WHERE completed_at IS NULL
            """,
        ])
}
