import Database

extension AppSchema {
    /// The tables of hosted content. They are small and do not grow with sales.
    static let hostedContent = Migration(
        2, "hosted content",
        [
            // A row stays when hosting is turned off, so that the catalog does not turn hosting on again.
            """
            CREATE TABLE hosted_products (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                is_hosted BOOLEAN NOT NULL,
                changed_at BIGINT NOT NULL,
                PRIMARY KEY (bundle_id, product_id)
            )
            """,
            // An empty product_id stands for the whole app.
            """
            CREATE TABLE content_rules (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                review TEXT NOT NULL CHECK (review IN ('manual', 'automatic')),
                PRIMARY KEY (bundle_id, product_id)
            )
            """,
            """
            CREATE TABLE content_versions (
                version_id TEXT PRIMARY KEY,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                version TEXT NOT NULL,
                version_key TEXT NOT NULL,
                state TEXT NOT NULL CHECK (state IN ('READY_TO_SUBMIT', 'WAITING_FOR_REVIEW', 'IN_REVIEW', 'APPROVED',
                    'REJECTED', 'DEVELOPER_REMOVED_FROM_SALE')),
                length BIGINT NOT NULL CHECK (length > 0),
                unpacked_length BIGINT NOT NULL CHECK (unpacked_length >= 0),
                sha256 TEXT NOT NULL,
                created_at BIGINT NOT NULL,
                approved_at BIGINT
            )
            """,
            // When two uploads have the same version number, one fails.
            """
            CREATE UNIQUE INDEX content_versions_by_number ON content_versions (bundle_id, product_id, version_key)
            WHERE state NOT IN ('REJECTED', 'DEVELOPER_REMOVED_FROM_SALE')
            """,
            "CREATE INDEX content_versions_by_product ON content_versions (bundle_id, product_id)",
            "CREATE INDEX content_versions_by_digest ON content_versions (sha256)",
            """
            CREATE TABLE content_history (
                version_id TEXT NOT NULL REFERENCES content_versions (version_id),
                step BIGINT NOT NULL,
                state TEXT NOT NULL,
                entered_at BIGINT NOT NULL,
                reason TEXT,
                PRIMARY KEY (version_id, step)
            )
            """,
            // The number of bytes that have arrived is the length of the upload's file. The table does not store it.
            """
            CREATE TABLE content_uploads (
                upload_id TEXT PRIMARY KEY,
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                length BIGINT NOT NULL CHECK (length > 0),
                sha256 TEXT NOT NULL,
                created_at BIGINT NOT NULL,
                touched_at BIGINT NOT NULL,
                processing_at BIGINT,
                version_id TEXT REFERENCES content_versions (version_id),
                findings TEXT,
                CHECK (version_id IS NULL OR findings IS NULL)
            )
            """,
            // A file has at most one open upload, which a repeated upload resumes.
            """
            CREATE UNIQUE INDEX content_uploads_open ON content_uploads (bundle_id, product_id, sha256)
            WHERE version_id IS NULL AND findings IS NULL
            """,
            // The key that signs the addresses of downloads.
            """
            CREATE TABLE content_key (
                id BIGINT PRIMARY KEY CHECK (id = 1),
                secret BYTEA NOT NULL
            )
            """,
        ])

    /// The folder that has an upload's bytes, for several processes on one database.
    static let uploadPlaces = Migration(
        3, "places of uploads", ["ALTER TABLE content_uploads ADD COLUMN place TEXT"])
}
