import Database

extension AppSchema {
    /// The files of the storefront's items that the blob storage has: one row for each item that was delivered.
    static let itemFiles = Migration(
        6, "files of items",
        [
            """
            CREATE TABLE item_files (
                item BIGINT PRIMARY KEY,
                path TEXT NOT NULL,
                modified BIGINT NOT NULL,
                length BIGINT NOT NULL CHECK (length > 0),
                sha256 TEXT NOT NULL
            ) WITHOUT ROWID
            """,
            "CREATE INDEX item_files_by_digest ON item_files (sha256)",
        ])

    /// The album or season of an item, so that its owner keeps the files after they have left the catalog.
    static let itemCollections = Migration(
        16, "collections of items' files",
        [
            "ALTER TABLE item_files ADD COLUMN collection BIGINT",
            "CREATE INDEX item_files_by_collection ON item_files (collection) WHERE collection IS NOT NULL",
        ])
}
