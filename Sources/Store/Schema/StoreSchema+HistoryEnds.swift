import Database

extension StoreSchema {
    /// The highest number in the history of each account.
    static let historyEnds = Migration(
        26, "ends of histories",
        [
            """
            CREATE TABLE history_ends (
                account_id TEXT PRIMARY KEY,
                number BIGINT NOT NULL
            ) WITHOUT ROWID
            """
        ])
}
