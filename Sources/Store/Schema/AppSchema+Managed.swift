import Database

extension AppSchema {
    /// The tables of the managed catalog. They grow with the operator's changes, not with sales.
    static let managedCatalog = Migration(
        9, "managed catalog",
        [
            // The document is the app without its products, in our own catalog format.
            """
            CREATE TABLE managed_apps (
                bundle_id TEXT PRIMARY KEY,
                revision BIGINT NOT NULL,
                changes BIGINT NOT NULL,
                in_app_purchase BOOLEAN NOT NULL,
                review TEXT NOT NULL CHECK (review IN ('automatic', 'manual')),
                document TEXT NOT NULL,
                created_at BIGINT NOT NULL
            )
            """,
            // A deleted product keeps its row, so that no other product can have its id. The document is an app with
            // this product alone, without texts.
            """
            CREATE TABLE managed_products (
                bundle_id TEXT NOT NULL REFERENCES managed_apps (bundle_id),
                product_id TEXT NOT NULL,
                place BIGINT NOT NULL,
                revision BIGINT NOT NULL,
                is_priced BOOLEAN NOT NULL,
                is_removed BOOLEAN NOT NULL,
                document TEXT NOT NULL,
                created_at BIGINT NOT NULL,
                deleted_at BIGINT,
                PRIMARY KEY (bundle_id, product_id)
            )
            """,
            """
            CREATE TABLE managed_versions (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                version BIGINT NOT NULL CHECK (version > 0),
                state TEXT NOT NULL CHECK (state IN ('PREPARING', 'WAITING_FOR_REVIEW', 'IN_REVIEW', 'APPROVED',
                    'REJECTED')),
                texts TEXT NOT NULL,
                reason TEXT,
                app_version TEXT,
                created_at BIGINT NOT NULL,
                submitted_at BIGINT,
                decided_at BIGINT,
                PRIMARY KEY (bundle_id, product_id, version),
                FOREIGN KEY (bundle_id, product_id) REFERENCES managed_products (bundle_id, product_id)
            )
            """,
            """
            CREATE TABLE managed_changes (
                bundle_id TEXT NOT NULL REFERENCES managed_apps (bundle_id),
                change_number BIGINT NOT NULL,
                product_id TEXT,
                changed_at BIGINT NOT NULL,
                author TEXT NOT NULL,
                kind TEXT NOT NULL,
                old_value TEXT,
                new_value TEXT,
                note TEXT,
                PRIMARY KEY (bundle_id, change_number)
            )
            """,
            "CREATE INDEX managed_changes_by_product ON managed_changes (bundle_id, product_id, change_number)",
            // No account numbers: only that an item is done, when and by whom.
            """
            CREATE TABLE managed_checklist (
                item TEXT PRIMARY KEY CHECK (item IN ('agreement', 'tax', 'bank')),
                is_required BOOLEAN NOT NULL,
                done_at BIGINT,
                done_by TEXT,
                CHECK ((done_at IS NULL) = (done_by IS NULL))
            )
            """,
        ])
}
