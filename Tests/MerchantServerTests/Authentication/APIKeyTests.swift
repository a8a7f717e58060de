import Crypto
import Foundation
import Merchant
import Synchronization
import Testing

@testable import MerchantServer

/// Keeps keys in memory, and counts the look-ups.
final class KeysInMemory: APIKeyStoring {
    struct Taken: Error {}

    private struct State {
        var records: [APIKeyRecord] = []
        var lookUps = 0
    }

    private let state = Mutex(State())

    var lookUps: Int { state.withLock { $0.lookUps } }

    func apiKey(digest: [UInt8]) async throws -> APIKeyRecord? {
        state.withLock { state in
            state.lookUps += 1
            return state.records.first { $0.digest == digest }
        }
    }

    func insert(_ key: APIKeyRecord) async throws {
        try state.withLock { state in
            guard !state.records.contains(where: { $0.name == key.name && $0.revokedAt == nil }) else { throw Taken() }
            state.records.append(key)
        }
    }

    func revokeAPIKey(name: String, at milliseconds: Int64) async throws -> Bool {
        state.withLock { state in
            guard let index = state.records.firstIndex(where: { $0.name == name && $0.revokedAt == nil }) else {
                return false
            }
            state.records[index].revokedAt = milliseconds
            return true
        }
    }

    func apiKeys() async throws -> [APIKeyRecord] {
        state.withLock { $0.records.sorted { $0.name < $1.name } }
    }
}

@Suite("API keys", .timeLimit(.minutes(1)))
struct APIKeyTests {
    private let now = TokenSamples.now

    @Test func aKeyIsGoodUntilItIsRevokedAndItsTextIsNotKept() async throws {
        let storage = KeysInMemory()
        let keys = APIKeys(storage)
        let new = try await keys.make(name: "shop", scopes: [.products, .users], at: now)
        #expect(new.text.count == APIKey.length)
        #expect(APIKeys.isKey(Substring(new.text)))
        let record = try #require(try await keys.all().first)
        #expect(record.digest.count == 32)
        #expect(record.scopes == ["products", "users"])
        #expect(record.createdAt == Int64(now.timeIntervalSince1970 * 1000))
        #expect(!String(describing: record).contains(new.text.dropFirst(4)))
        #expect(try await keys.key(Substring(new.text), at: now) == APIKey(name: "shop", scopes: [.products, .users]))
        #expect(try await keys.revoke(name: "shop", at: now))
        #expect(try await keys.key(Substring(new.text), at: now) == nil)
        #expect(try await keys.revoke(name: "shop", at: now) == false)
        // The name is free again, for another key.
        let second = try await keys.make(name: "shop", scopes: [.ledger], at: now)
        #expect(second.text != new.text)
        #expect(try await keys.key(Substring(new.text), at: now) == nil)
    }

    @Test func aGoodKeyIsRememberedForAShortTime() async throws {
        let storage = KeysInMemory()
        let keys = APIKeys(storage)
        let text = Substring(try await keys.make(name: "shop", scopes: [.ledger], at: now).text)
        for _ in 0..<3 { #expect(try await keys.key(text, at: now) != nil) }
        #expect(storage.lookUps == 1)
        // Another process revokes it.
        _ = try await storage.revokeAPIKey(name: "shop", at: 1)
        #expect(try await keys.key(text, at: now.addingTimeInterval(4.9)) != nil)
        #expect(try await keys.key(text, at: now.addingTimeInterval(5)) == nil)
    }

    @Test func whatIsNoKeyIsNotLookedUp() async throws {
        let storage = KeysInMemory()
        let keys = APIKeys(storage)
        let text = try await keys.make(name: "shop", scopes: [.ledger], at: now).text
        for wrong in [
            "", "cmk_", String(text.dropLast()), text + "A", "xmk_" + text.dropFirst(4), text.lowercased() + "=",
            "cmk_" + String(repeating: "*", count: 43),
        ] {
            #expect(try await keys.key(Substring(wrong), at: now) == nil)
        }
        #expect(storage.lookUps == 0)
        let other = APIKey.text(of: RandomBytes.make(32))
        #expect(try await keys.key(Substring(other), at: now) == nil)
        #expect(storage.lookUps == 1)
    }

    @Test func aScopeOfANewerVersionGivesNothing() async throws {
        let storage = KeysInMemory()
        let bytes = RandomBytes.make(32)
        try await storage.insert(
            APIKeyRecord(
                name: "new", digest: Array(SHA256.hash(data: bytes)), scopes: ["ledger", "everything"], createdAt: 0))
        let key = try await APIKeys(storage).key(Substring(APIKey.text(of: bytes)), at: now)
        #expect(key?.scopes == [.ledger])
    }

    @Test(arguments: ["", "a b", "-a", "ä", String(repeating: "a", count: 65), "a\n"])
    func aNameThatIsNoneIsRefused(_ name: String) async throws {
        let keys = APIKeys(KeysInMemory())
        await #expect(throws: MerchantServerError.self) { try await keys.make(name: name, scopes: [.ledger], at: now) }
    }

    @Test func aKeyHasAScopeAndANameOfItsOwn() async throws {
        let keys = APIKeys(KeysInMemory())
        await #expect(throws: MerchantServerError.self) { try await keys.make(name: "a", scopes: [], at: now) }
        _ = try await keys.make(name: "a", scopes: [.users], at: now)
        await #expect(throws: KeysInMemory.Taken.self) { try await keys.make(name: "a", scopes: [.users], at: now) }
    }
}
