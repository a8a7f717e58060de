import Database

extension StoreSchema {
    /// The facts about a customer in an app: the transaction from which the identifier of the app transaction is made,
    /// once the ledger has lost it, and the version of the app. A notification has that version, too.
    ///
    /// `resends` counts how often the operator ordered a notification to be sent again. `tried` says whether the store
    /// tried to send it and it is of version 2. The history finds notifications in the indexes alone, without reading
    /// payloads.
    static let customersOfApps = Migration(
        23, "customers of apps, and notifications sent again",
        [
            """
            CREATE TABLE app_customers (
                account_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                first_transaction_id BIGINT,
                bundle_version TEXT,
                PRIMARY KEY (account_id, bundle_id)
            ) WITHOUT ROWID
            """,
            """
            CREATE INDEX app_customers_by_transaction ON app_customers (first_transaction_id)
            WHERE first_transaction_id IS NOT NULL
            """,
            "ALTER TABLE notifications ADD COLUMN bundle_version TEXT",
            "ALTER TABLE notifications ADD COLUMN resends BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE notifications ADD COLUMN tried BOOLEAN NOT NULL DEFAULT FALSE",
            "UPDATE notifications SET tried = TRUE WHERE send_log <> ''",
            "DROP INDEX notifications_by_date",
            "DROP INDEX notifications_of_customer",
            """
            CREATE INDEX notifications_by_date ON notifications (bundle_id, date, number, tried, state, type, subtype)
            """,
            """
            CREATE INDEX notifications_of_customer ON notifications (account_id, bundle_id, date, number, tried, state)
            WHERE account_id IS NOT NULL
            """,
        ])
}
