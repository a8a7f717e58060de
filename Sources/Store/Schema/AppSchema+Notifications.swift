import Database

extension AppSchema {
    /// The receiver of each app's notifications in each environment: its URL, and a line for each origin that it may
    /// redirect to.
    static let notificationReceivers = Migration(
        12, "notification receivers",
        [
            "ALTER TABLE apps ADD COLUMN sandbox_notification_url TEXT",
            "ALTER TABLE apps ADD COLUMN sandbox_redirect_origins TEXT",
            "ALTER TABLE apps ADD COLUMN production_notification_url TEXT",
            "ALTER TABLE apps ADD COLUMN production_redirect_origins TEXT",
        ])

    /// The version of the notifications that each receiver gets.
    static let notificationVersions = Migration(
        13, "notification versions",
        [
            "ALTER TABLE apps ADD COLUMN sandbox_notification_version BIGINT NOT NULL DEFAULT 2",
            "ALTER TABLE apps ADD COLUMN production_notification_version BIGINT NOT NULL DEFAULT 2",
        ])
}
