import Database

extension AppSchema {
    /// The views of items' pages that a campaign's link led to, by day.
    static let campaigns = Migration(
        5, "campaigns",
        [
            """
            CREATE TABLE campaign_views (
                item BIGINT NOT NULL,
                day BIGINT NOT NULL,
                affiliate TEXT NOT NULL,
                campaign TEXT NOT NULL,
                provider TEXT NOT NULL,
                views BIGINT NOT NULL CHECK (views > 0),
                PRIMARY KEY (item, day, affiliate, campaign, provider)
            ) WITHOUT ROWID
            """
        ])
}
