import Database

extension StoreSchema {
    /// Whether a notification is a sample, which reports nothing that happened. The column `summary` of a sample has
    /// whatever stands in place of `data`.
    static let notificationSamples = Migration(
        27, "samples of notifications",
        ["ALTER TABLE notifications ADD COLUMN is_sample BOOLEAN NOT NULL DEFAULT FALSE"])
}
