import Database

extension AppSchema {
    /// What is kept of hosted content: small tables of the operator's, of which nothing grows with sales.
    static let hostedContent = Migration(
        2, "hosted content",
        [
            // A row stays when hosting is turned off, so that the catalog's word does not turn it on again.
            """
            CREATE TABLE hosted_products (
                bundle_id TEXT NOT NULL,
                product_id TEXT NOT NULL,
                is_hosted BOOLEAN NOT NULL,
                changed_at BIGINT NOT NULL,
                PRIMARY KEY (bundle_id, product_id)
            )
            """,
            // An empty product is the whole app.
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
            // Of two uploads of one version, one wins.
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
            // What has arrived of each is the length of its file and stands nowhere else.
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
            // The same file sent again goes on where it stopped.
            """
            CREATE UNIQUE INDEX content_uploads_open ON content_uploads (bundle_id, product_id, sha256)
            WHERE version_id IS NULL AND findings IS NULL
            """,
            // What addresses of downloads are signed with.
            """
            CREATE TABLE content_key (
                id BIGINT PRIMARY KEY CHECK (id = 1),
                secret BYTEA NOT NULL
            )
            """,
        ])

    /// Which process has an upload's bytes, where several use one database.
    static let uploadPlaces = Migration(
        3, "places of uploads", ["ALTER TABLE content_uploads ADD COLUMN place TEXT"])
}
