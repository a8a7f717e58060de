import Database

extension StoreSchema {
    /// How many requests to the App Store Server API an app may make in an hour, by class. A class without a row is not
    /// limited.
    static let rateLimits = Migration(
        24, "rate limits",
        [
            """
            CREATE TABLE rate_limits (
                bundle_id TEXT NOT NULL,
                rate_class TEXT NOT NULL,
                per_hour BIGINT NOT NULL CHECK (per_hour > 0),
                PRIMARY KEY (bundle_id, rate_class)
            ) WITHOUT ROWID
            """
        ])
}
