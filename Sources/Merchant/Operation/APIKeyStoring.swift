/// An API key of the merchant's backend, as it is kept: never the key itself.
public struct APIKeyRecord: Sendable, Equatable {
    /// The key's name; unique among those that are not revoked.
    public var name: String
    /// SHA-256 of the key's 32 bytes.
    public var digest: [UInt8]
    /// What it may do, as words: `products`, `users`, `ledger`, `content`, `webhooks`, `metrics`.
    public var scopes: [String]
    /// Milliseconds since 1970.
    public var createdAt: Int64
    /// Milliseconds since 1970; nil while it is good.
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

/// Where API keys are kept.
public protocol APIKeyStoring: Sendable {
    /// The key of that digest, revoked or not; nil when there is none.
    func apiKey(digest: [UInt8]) async throws -> APIKeyRecord?
    /// Keeps a new key.
    /// - Throws: ``MerchantError`` `invalid_request` when the name is taken by a key that is good.
    func insert(_ key: APIKeyRecord) async throws
    /// Makes the key of that name good no longer; false when there is none that is good.
    func revokeAPIKey(name: String, at milliseconds: Int64) async throws -> Bool
    /// All keys, in the order of their names.
    func apiKeys() async throws -> [APIKeyRecord]
}
