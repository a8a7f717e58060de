import Crypto
import Foundation
import Merchant
import Synchronization

/// The API keys of backends: 32 random bytes each, shown once and stored as SHA-256.
public final class APIKeys: Sendable {
    /// How long a valid key is remembered, in seconds. A key that another process revokes stays valid here for as long.
    static let rememberedFor: TimeInterval = 5
    /// The largest number of remembered keys.
    static let remembered = 1_024

    private struct Entry {
        var key: APIKey
        var until: Date
    }

    private struct Memory {
        var entries: [[UInt8]: Entry] = [:]
        /// The number of revocations. A key that was looked up before a revocation is not remembered after it.
        var epoch = 0
    }

    private let storage: any APIKeyStoring
    private let memory = Mutex(Memory())

    /// Creates the keys over their storage.
    public init(_ storage: any APIKeyStoring) { self.storage = storage }

    /// Whether a bearer token has the form of an API key rather than of a user's token.
    public static func isKey(_ text: Substring) -> Bool { text.hasPrefix(APIKey.prefix) }

    /// The name of a key that was valid when it was last looked up, however long ago. Use it to count requests, never
    /// to authorize them.
    func knownName(of text: Substring) -> String? {
        guard let digest = APIKey.digest(of: text) else { return nil }
        return memory.withLock { $0.entries[digest]?.key.name }
    }

    /// Looks up a key. Returns nil for an unknown or revoked key.
    /// - Throws: the storage's error.
    public func key(_ text: Substring, at now: Date) async throws -> APIKey? {
        guard let digest = APIKey.digest(of: text) else { return nil }
        let (known, epoch) = memory.withLock { memory -> (APIKey?, Int) in
            // The second condition is for a clock that was set back.
            guard let entry = memory.entries[digest], now < entry.until,
                entry.until.timeIntervalSince(now) <= Self.rememberedFor
            else { return (nil, memory.epoch) }
            return (entry.key, memory.epoch)
        }
        if let known { return known }
        guard let record = try await storage.apiKey(digest: digest), record.revokedAt == nil,
            Self.equal(record.digest, digest)
        else {
            _ = memory.withLock { $0.entries.removeValue(forKey: digest) }
            return nil
        }
        // Ignore scopes of a newer version.
        let key = APIKey(name: record.name, scopes: Set(record.scopes.compactMap { APIScope(rawValue: $0) }))
        memory.withLock { memory in
            guard memory.epoch == epoch else { return }
            if memory.entries.count >= Self.remembered { memory.entries.removeAll() }
            memory.entries[digest] = Entry(key: key, until: now.addingTimeInterval(Self.rememberedFor))
        }
        return key
    }

    /// Creates a key and stores its digest.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for an invalid name or no scopes; the storage's error
    ///   when the name is taken.
    public func make(name: String, scopes: Set<APIScope>, at now: Date) async throws -> NewAPIKey {
        guard name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil else {
            throw MerchantServerError(
                .invalidConfiguration,
                "A key's name must be 1 to 64 letters, digits, dots, dashes and underscores, and begin with a letter or digit."
            )
        }
        guard !scopes.isEmpty else {
            throw MerchantServerError(
                .invalidConfiguration,
                "A key needs at least one of the scopes \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let bytes = RandomBytes.make(APIKey.size)
        try await storage.insert(
            APIKeyRecord(
                name: name, digest: Array(SHA256.hash(data: bytes)), scopes: scopes.map(\.rawValue).sorted(),
                createdAt: Int64(now.timeIntervalSince1970 * 1000)))
        return NewAPIKey(name: name, scopes: scopes, text: APIKey.text(of: bytes))
    }

    /// Revokes a key. Returns false when no valid key has the name.
    /// - Throws: ``DatabaseError``.
    public func revoke(name: String, at now: Date) async throws -> Bool {
        let isRevoked = try await storage.revokeAPIKey(name: name, at: Int64(now.timeIntervalSince1970 * 1000))
        memory.withLock { $0 = Memory(epoch: $0.epoch + 1) }
        return isRevoked
    }

    /// All keys, revoked ones included, without their secrets.
    /// - Throws: ``DatabaseError``.
    public func all() async throws -> [APIKeyRecord] { try await storage.apiKeys() }

    /// Compares in a time that does not depend on the first difference.
    private static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
