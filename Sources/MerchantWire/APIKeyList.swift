/// An API key of the merchant's backend, without its secret.
public struct APIKeyDescription: Codable, Sendable, Equatable {
    /// The key's name, unique among the active keys.
    public var name: String
    /// The scopes of the key.
    public var scopes: [String]
    /// The time of creation, in milliseconds since 1970.
    public var createdAt: Int64
    /// The time of revocation, in milliseconds since 1970; nil while the key is active.
    public var revokedAt: Int64?

    /// Creates a description of a key.
    public init(name: String, scopes: [String], createdAt: Int64, revokedAt: Int64? = nil) {
        self.name = name
        self.scopes = scopes
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// All API keys, revoked ones included, in the order of their names.
public struct APIKeyList: Codable, Sendable, Equatable {
    /// The keys.
    public var keys: [APIKeyDescription]

    /// Creates a list of keys.
    public init(keys: [APIKeyDescription]) { self.keys = keys }
}

/// A request to make an API key.
public struct APIKeyRequest: Codable, Sendable, Equatable {
    /// The key's name: 1 to 64 letters, digits, dots, dashes and underscores.
    public var name: String
    /// The scopes, at least one. The key that makes the request must have them itself.
    public var scopes: [String]

    /// Creates a request.
    public init(name: String, scopes: [String]) {
        self.name = name
        self.scopes = scopes
    }
}

/// A new API key. Its secret is shown only now.
public struct MadeAPIKey: Codable, Sendable, Equatable {
    /// The key's name.
    public var name: String
    /// The scopes of the key.
    public var scopes: [String]
    /// The secret, to be sent as `Authorization: Bearer`.
    public var key: String

    /// Creates the answer to a request for a key.
    public init(name: String, scopes: [String], key: String) {
        self.name = name
        self.scopes = scopes
        self.key = key
    }
}
