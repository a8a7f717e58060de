import Database

extension StoreSchema {
    /// The notifications to apps' servers. A row holds what its payload says, and once that is signed, the payload.
    ///
    /// Notifications of one lane are first sent one after another: those of a purchase, by its first transaction. Any
    /// other notification has a lane of its own. `due_at` is 0 before the first attempt.
    static let notifications = Migration(
        19, "notifications",
        [
            """
            CREATE TABLE notifications (
                number BIGINT PRIMARY KEY,
                notification_id TEXT NOT NULL UNIQUE,
                bundle_id TEXT NOT NULL,
                account_id TEXT,
                lane BIGINT NOT NULL,
                type TEXT NOT NULL,
                subtype TEXT,
                date BIGINT NOT NULL,
                transaction_id BIGINT,
                status BIGINT,
                consumption_reason TEXT,
                transaction_info TEXT,
                renewal_info TEXT,
                summary TEXT,
                signed_payload TEXT,
                state TEXT NOT NULL,
                due_at BIGINT NOT NULL,
                attempts BIGINT NOT NULL,
                send_log TEXT NOT NULL
            )
            """,
            "CREATE INDEX notifications_due ON notifications (bundle_id, due_at, number) WHERE state = 'waiting'",
            """
            CREATE INDEX notifications_first ON notifications (lane, number) WHERE state = 'waiting' AND attempts = 0
            """,
            "CREATE INDEX notifications_by_date ON notifications (bundle_id, date, number)",
            """
            CREATE INDEX notifications_of_customer ON notifications (account_id, bundle_id, date, number)
            WHERE account_id IS NOT NULL
            """,
        ])

    /// The version of each notification. One of version 1 has no signed payload: `signed_payload` is the body, without
    /// the app's shared secret.
    static let notificationVersions = Migration(
        22, "notification versions", ["ALTER TABLE notifications ADD COLUMN version BIGINT NOT NULL DEFAULT 2"])
}
