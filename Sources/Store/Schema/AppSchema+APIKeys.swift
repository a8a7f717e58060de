import Database

extension AppSchema {
    /// The keys of the App Store Server API. The store keeps their public halves only.
    static let apiKeys = Migration(
        11, "API keys",
        [
            """
            CREATE TABLE api_keys (
                key_id TEXT PRIMARY KEY,
                issuer_id TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                public_key BYTEA NOT NULL,
                created_at BIGINT NOT NULL,
                revoked_at BIGINT
            )
            """
        ])
}
