/// The stored record of an API key of the merchant's backend. It does not contain the key itself.
public struct APIKeyRecord: Sendable, Equatable {
    /// The key's name, unique among the keys that are not revoked.
    public var name: String
    /// SHA-256 of the key's 32 bytes.
    public var digest: [UInt8]
    /// The scopes that the key grants: `products`, `users`, `ledger`, `content`, `webhooks`, `keys`,
    /// `settings`, `metrics`.
    public var scopes: [String]
    /// The time of creation, in milliseconds since 1970.
    public var createdAt: Int64
    /// The time of revocation, in milliseconds since 1970; nil while the key is active.
    public var revokedAt: Int64?

    /// Creates the record of an API key.
    public init(name: String, digest: [UInt8], scopes: [String], createdAt: Int64, revokedAt: Int64? = nil) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// The storage of API keys.
public protocol APIKeyStoring: Sendable {
    /// Returns the key with a digest, revoked or not; nil when there is none.
    /// - Throws: ``DatabaseError``.
    func apiKey(digest: [UInt8]) async throws -> APIKeyRecord?
    /// Stores a new key.
    /// - Throws: ``MerchantError`` `invalid_request` when an active key has the name; ``DatabaseError``.
    func insert(_ key: APIKeyRecord) async throws
    /// Revokes the active key of that name. Returns false when there is none.
    /// - Throws: ``DatabaseError``.
    func revokeAPIKey(name: String, at milliseconds: Int64) async throws -> Bool
    /// Returns all keys, sorted by name.
    /// - Throws: ``DatabaseError``.
    func apiKeys() async throws -> [APIKeyRecord]
}
