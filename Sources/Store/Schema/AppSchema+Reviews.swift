import Database

extension AppSchema {
    /// The ratings and reviews of the storefront's items, of both environments.
    static let reviews = Migration(
        4, "ratings and reviews",
        [
            """
            CREATE TABLE reviews (
                review_id TEXT PRIMARY KEY,
                environment TEXT NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
                account_id TEXT NOT NULL,
                item_number BIGINT NOT NULL,
                storefront TEXT NOT NULL CHECK (LENGTH(storefront) = 3),
                stars BIGINT NOT NULL CHECK (stars BETWEEN 1 AND 5),
                title TEXT,
                body TEXT,
                version TEXT,
                created_at BIGINT NOT NULL,
                edited_at BIGINT NOT NULL,
                answer TEXT,
                answered_at BIGINT,
                hidden_reason TEXT,
                hidden_at BIGINT,
                CHECK ((title IS NULL) = (body IS NULL)),
                CHECK ((answer IS NULL) = (answered_at IS NULL)),
                CHECK ((hidden_reason IS NULL) = (hidden_at IS NULL))
            )
            """,
            // An account has one review of an item in a storefront, which writing again edits.
            """
            CREATE UNIQUE INDEX reviews_by_account ON reviews (environment, account_id, item_number, storefront)
            """,
            // The reviews that an item's page shows.
            """
            CREATE INDEX reviews_shown ON reviews (item_number, storefront, edited_at, review_id)
            WHERE hidden_at IS NULL AND title IS NOT NULL
            """,
            // The operator's lists.
            "CREATE INDEX reviews_by_item ON reviews (item_number, edited_at, review_id)",
            "CREATE INDEX reviews_by_time ON reviews (edited_at, review_id)",
            "CREATE INDEX reviews_hidden ON reviews (edited_at, review_id) WHERE hidden_at IS NOT NULL",
        ])
}
