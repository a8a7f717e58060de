import Database

extension AppSchema {
    /// The secrets of a store with a key, sealed with it. Only the row `store` is in clear: the store's identifier,
    /// which every sealed secret names, so that a backup also opens under another prefix of the schemas.
    static let secrets = Migration(
        14, "sealed secrets",
        [
            """
            CREATE TABLE store_secrets (
                name TEXT PRIMARY KEY,
                sealed BYTEA NOT NULL,
                revision BIGINT NOT NULL
            )
            """
        ])
}
