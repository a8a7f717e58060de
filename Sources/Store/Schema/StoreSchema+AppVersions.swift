import Database

extension StoreSchema {
    /// The version of the app with which a customer first asked for a receipt. Of earlier customers, the store knows
    /// the last version only.
    static let originalVersions = Migration(
        29, "the first versions of apps that customers had",
        [
            "ALTER TABLE app_customers ADD COLUMN original_version TEXT",
            "UPDATE app_customers SET original_version = bundle_version",
        ])
}
