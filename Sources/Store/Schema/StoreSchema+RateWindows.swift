import Database

extension StoreSchema {
    /// The hours in which the requests to the App Store Server API are counted, of each app with a rule and each class.
    static let rateWindows = Migration(
        32, "hours of rate limits",
        [
            """
            CREATE TABLE rate_windows (
                bundle_id TEXT NOT NULL,
                rate_class TEXT NOT NULL,
                started_at BIGINT NOT NULL,
                requests BIGINT NOT NULL,
                PRIMARY KEY (bundle_id, rate_class)
            ) WITHOUT ROWID
            """
        ])
}
