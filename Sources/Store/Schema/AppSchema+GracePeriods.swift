import Database

extension AppSchema {
    /// The billing grace period of each app.
    static let gracePeriods = Migration(
        10, "grace periods",
        [
            "ALTER TABLE apps ADD COLUMN grace_days BIGINT",
            "ALTER TABLE apps ADD COLUMN grace_in_production BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE apps ADD COLUMN grace_in_sandbox BOOLEAN NOT NULL DEFAULT FALSE",
            "ALTER TABLE apps ADD COLUMN grace_after_paid BOOLEAN NOT NULL DEFAULT FALSE",
        ])
}
