import Database

extension AppSchema {
    /// The tables for several processes that share a store. Dates are milliseconds since 1970 by the machines' clocks.
    static let claims = Migration(
        15, "claims",
        [
            // The scheduled work that a process does, and until when no other process does it.
            """
            CREATE TABLE claims (
                name TEXT PRIMARY KEY,
                holder TEXT NOT NULL,
                held_until BIGINT NOT NULL
            )
            """,
            // The packages and files that nothing used at a date. They are deleted later, because another process may
            // be storing the same bytes. `removed_until` is 0 unless a process is deleting the bytes.
            """
            CREATE TABLE dead_blobs (
                sha256 TEXT PRIMARY KEY,
                since BIGINT NOT NULL,
                removed_until BIGINT NOT NULL
            )
            """,
            "CREATE INDEX dead_blobs_by_date ON dead_blobs (since)",
        ])
}
