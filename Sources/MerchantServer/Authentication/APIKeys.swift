import Crypto
import Foundation
import Merchant
import Synchronization

/// The keys by which backends are known: 32 random bytes, shown once, kept as SHA-256.
public final class APIKeys: Sendable {
    /// For how long a key that was found good is not looked up again, in seconds; a key that another process revoked is good for as long.
    static let rememberedFor: TimeInterval = 5
    /// Keys remembered at most.
    static let remembered = 1_024

    private struct Entry {
        var key: APIKey
        var until: Date
    }

    private struct Memory {
        var entries: [[UInt8]: Entry] = [:]
        /// Counts revocations, so that what was looked up before one is not remembered after it.
        var epoch = 0
    }

    private let storage: any APIKeyStoring
    private let memory = Mutex(Memory())

    public init(_ storage: any APIKeyStoring) { self.storage = storage }

    /// Whether a bearer's text has the form of an API key rather than of a user's token.
    public static func isKey(_ text: Substring) -> Bool { text.hasPrefix(APIKey.prefix) }

    /// The name of the key of that text, if it was good when it was last looked up, however long ago. For counting, not
    /// for letting in.
    func knownName(of text: Substring) -> String? {
        guard let digest = APIKey.digest(of: text) else { return nil }
        return memory.withLock { $0.entries[digest]?.key.name }
    }

    /// The key of that text; nil when there is none, or it was revoked.
    /// - Throws: what the storage throws.
    public func key(_ text: Substring, at now: Date) async throws -> APIKey? {
        guard let digest = APIKey.digest(of: text) else { return nil }
        let (known, epoch) = memory.withLock { memory -> (APIKey?, Int) in
            // The second is for a clock that was put back.
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
        // A scope of a newer version gives nothing here.
        let key = APIKey(name: record.name, scopes: Set(record.scopes.compactMap { APIScope(rawValue: $0) }))
        memory.withLock { memory in
            guard memory.epoch == epoch else { return }
            if memory.entries.count >= Self.remembered { memory.entries.removeAll() }
            memory.entries[digest] = Entry(key: key, until: now.addingTimeInterval(Self.rememberedFor))
        }
        return key
    }

    /// Makes a key and keeps its digest.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for a name or scopes that cannot be; what the storage throws when the name is taken.
    public func make(name: String, scopes: Set<APIScope>, at now: Date) async throws -> NewAPIKey {
        guard name.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil else {
            throw MerchantServerError(
                .invalidConfiguration,
                "A key's name is 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit."
            )
        }
        guard !scopes.isEmpty else {
            throw MerchantServerError(
                .invalidConfiguration,
                "A key needs at least one scope of \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let bytes = RandomBytes.make(APIKey.size)
        try await storage.insert(
            APIKeyRecord(
                name: name, digest: Array(SHA256.hash(data: bytes)), scopes: scopes.map(\.rawValue).sorted(),
                createdAt: Int64(now.timeIntervalSince1970 * 1000)))
        return NewAPIKey(name: name, scopes: scopes, text: APIKey.text(of: bytes))
    }

    /// Makes a key good no longer; false when none of that name is good.
    public func revoke(name: String, at now: Date) async throws -> Bool {
        let isRevoked = try await storage.revokeAPIKey(name: name, at: Int64(now.timeIntervalSince1970 * 1000))
        memory.withLock { $0 = Memory(epoch: $0.epoch + 1) }
        return isRevoked
    }

    /// All keys that there are and were, without their secrets.
    public func all() async throws -> [APIKeyRecord] { try await storage.apiKeys() }

    /// Compares in a time that does not depend on where they differ.
    private static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
