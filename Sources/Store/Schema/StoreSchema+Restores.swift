import Database

extension StoreSchema {
    /// What was delivered again. A row lends its source, a row of `transactions`, another id and date; nothing is charged for it, and the app
    /// receipt goes on listing the source.
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
            // A receipt names a transaction and not its account.
            "CREATE UNIQUE INDEX restored_transactions_by_id ON restored_transactions (transaction_id)",
            // A page that is asked for again finds what it gave.
            """
            CREATE UNIQUE INDEX restored_transactions_by_key
            ON restored_transactions (account_id, restore_key, source_transaction_id)
            """,
            // What a device has not finished is not delivered to it under a second id.
            """
            CREATE UNIQUE INDEX restored_transactions_unfinished
            ON restored_transactions (account_id, device_id, source_transaction_id) WHERE finished_at IS NULL
            """,
        ])

    /// A device's deliveries are forgotten page by page, and all of a device's at once. Without an index of their own each page of a restore would
    /// read all that the account's devices ever restored.
    static let restoredByDevice = Migration(
        5, "restored transactions by device",
        [
            """
            CREATE INDEX restored_transactions_by_device
            ON restored_transactions (account_id, device_id, source_transaction_id, transaction_id)
            """
        ])
}
