/// The reason why the secrets of a store cannot be read. It never contains a secret or a key.
public struct StoreSecretsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// The store key is malformed, or others than its owner can read its file.
        case keyUnusable = "store_key_unusable"
        /// The database has sealed secrets, and no key was given.
        case keyMissing = "store_key_missing"
        /// The database was sealed with another key.
        case keyWrong = "store_key_wrong"
        /// A key was given for a database that cannot have sealed secrets, or has none.
        case keyUnused = "store_key_unused"
        /// The key is right, but a secret cannot be opened: it was changed, or belongs to another place.
        case secretDamaged = "secret_damaged"
    }

    /// The kind of failure. It is stable.
    public var code: Code
    /// The problem, where it occurred, and how to fix it.
    public var detail: String

    /// Creates an error. The detail describes the problem, where it occurred, and how to fix it.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// ``detail``.
    public var description: String { detail }
}

extension StoreSecretsError {
    static let keyMissing = StoreSecretsError(
        .keyMissing, "The secrets in this database are sealed. Give the store's key with --store-key.")

    static let keyWrong = StoreSecretsError(
        .keyWrong,
        "The secrets in this database are sealed with another store key. Start every process with the same "
            + "--store-key.")

    static let keyUnused = StoreSecretsError(
        .keyUnused,
        "A store key seals the secrets of a store on PostgreSQL. Leave --store-key out, or name a --database.")

    static let notSealed = StoreSecretsError(
        .keyUnused,
        "The secrets in this database are not sealed. Leave out --store-key, and unset CORNERSTORE_STORE_KEY.")

    static func damaged(_ name: String) -> StoreSecretsError {
        StoreSecretsError(
            .secretDamaged,
            "The secret “\(name.prefix(300))” in the database is damaged or missing. Restore the database from a "
                + "backup.")
    }
}
