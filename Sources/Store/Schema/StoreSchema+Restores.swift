import Database

extension StoreSchema {
    /// Restored transactions. A row gives its source, a row of `transactions`, another identifier and date. Nothing is
    /// charged for it, and the app receipt keeps listing the source.
    static let restoredTransactions = Migration(
        2, "restored transactions",
        [
            """
            CREATE TABLE restored_transactions (
                account_id TEXT NOT NULL,
                transaction_id BIGINT NOT NULL,
                source_transaction_id BIGINT NOT NULL,
                restore_key TEXT NOT NULL,
                device_id TEXT NOT NULL,
                restored_at BIGINT NOT NULL,
                finished_at BIGINT,
                PRIMARY KEY (account_id, transaction_id)
            )
            """,
            // A receipt names a transaction, but not its account.
            "CREATE UNIQUE INDEX restored_transactions_by_id ON restored_transactions (transaction_id)",
            // A repeated request for a page returns the same transactions.
            """
            CREATE UNIQUE INDEX restored_transactions_by_key
            ON restored_transactions (account_id, restore_key, source_transaction_id)
            """,
            // A device has at most one unfinished delivery of each source.
            """
            CREATE UNIQUE INDEX restored_transactions_unfinished
            ON restored_transactions (account_id, device_id, source_transaction_id) WHERE finished_at IS NULL
            """,
        ])

    /// The index for deleting a device's deliveries, by page or all at once. Without it, each page of a restore would
    /// read all deliveries to the account's devices.
    static let restoredByDevice = Migration(
        5, "restored transactions by device",
        [
            """
            CREATE INDEX restored_transactions_by_device
            ON restored_transactions (account_id, device_id, source_transaction_id, transaction_id)
            """
        ])
}
