import Database

extension StoreSchema {
    /// The families, and the purchases that their members share.
    static let families = Migration(
        15, "families",
        [
            // The organizer's row names itself. The key lets an account be in one family.
            """
            CREATE TABLE family_members (
                account_id TEXT PRIMARY KEY,
                organizer_id TEXT NOT NULL,
                shares BOOLEAN NOT NULL,
                joined_at BIGINT NOT NULL
            ) WITHOUT ROWID
            """,
            "CREATE INDEX family_members_by_organizer ON family_members (organizer_id, joined_at, account_id)",
            // One row for each member who received a purchase. The key is the member's own original transaction, and
            // the source is the purchaser's.
            """
            CREATE TABLE family_shares (
                original_transaction_id BIGINT PRIMARY KEY,
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                source_id BIGINT NOT NULL,
                source_account_id TEXT NOT NULL,
                original_purchase_date BIGINT NOT NULL,
                transaction_id BIGINT NOT NULL,
                ended_at BIGINT,
                UNIQUE (account_id, source_id)
            ) WITHOUT ROWID
            """,
            "CREATE INDEX family_shares_by_source ON family_shares (source_id)",
            "CREATE INDEX family_shares_by_purchaser ON family_shares (source_account_id)",
            "ALTER TABLE transactions ADD COLUMN shared_from BIGINT",
            "CREATE INDEX transactions_shared ON transactions (shared_from) WHERE shared_from IS NOT NULL",
        ])
}
