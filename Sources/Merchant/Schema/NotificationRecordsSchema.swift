/// Keeps what each notification was about and had as an effect, and lists notifications by the time of their receipt.
/// The columns are null for a notification that an earlier program received.
enum NotificationRecordsSchema {
    static let statements =
        ["outcome", "environment", "bundle_id", "transaction_id", "original_transaction_id"].map { column in
            "ALTER TABLE notifications ADD COLUMN \(column) TEXT"
        } + ["CREATE INDEX notifications_by_time ON notifications (received_at, notification_id)"]
}
