import Database

extension StoreSchema {
    /// The process that sends a notification, and how long it may take, in milliseconds since 1970 by the machines'
    /// clocks. `claimed_until` is 0 for a notification that no process has claimed.
    static let notificationClaims = Migration(
        31, "claims of notifications",
        [
            "ALTER TABLE notifications ADD COLUMN claimed_by TEXT",
            "ALTER TABLE notifications ADD COLUMN claimed_until BIGINT NOT NULL DEFAULT 0",
            "CREATE INDEX notifications_claimed ON notifications (lane) WHERE claimed_until > 0",
        ])
}
