import Database

extension AppSchema {
    /// The partners who may download the feed.
    static let partners = Migration(
        7, "partners of the feed",
        [
            """
            CREATE TABLE partners (
                name TEXT PRIMARY KEY,
                password_salt BYTEA NOT NULL,
                password_hash BYTEA NOT NULL,
                password_rounds BIGINT NOT NULL,
                created_at BIGINT NOT NULL
            )
            """
        ])
}
