import Database

extension AppSchema {
    /// The changes that operators made. The table keeps a bounded number of rows.
    static let audit = Migration(
        8, "changes by operators",
        [
            """
            CREATE TABLE operator_changes (
                number BIGINT PRIMARY KEY,
                changed_at BIGINT NOT NULL,
                operator_name TEXT,
                environment TEXT,
                operation TEXT NOT NULL,
                subject TEXT,
                state_before TEXT,
                state_after TEXT
            ) WITHOUT ROWID
            """
        ])
}
