import Foundation
import TestSupport
import Testing

@testable import CornerstoreCommands
@testable import Store
@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct MerchantStoreKeysTests {
    @Test func `processes of a store with a key share one key of an app, until it is revoked`() async throws {
        try await RunningStore.with { store in
            let application = store.application.store
            let secrets = try await StoreSecrets.open(application.databases.apps, key: StoreKey())
            let merchant = store.directory.url.appendingPathComponent("merchant")
            /// The key's identifier as a new process finds or makes it.
            @Sendable func keyID() async -> String? {
                let keys = MerchantStoreKeys(
                    application, secrets: secrets, merchant: merchant, addresses: store.addresses,
                    logger: ServeAction.logger(.critical))
                return await keys.access("com.example.app")?.key.keyID
            }
            // Two that make one at once keep the first one's.
            async let other = keyID()
            let first = try #require(await keyID())
            let others = await other
            #expect(others == first)
            #expect(await keyID() == first)
            #expect(application.apiKeys.all.filter { $0.revokedAt == nil }.map(\.keyID) == [first])
            _ = try await application.apiKeys.revoke(first, at: 1_800_000_000_000)
            let second = try #require(await keyID())
            #expect(second != first)
            #expect(await keyID() == second)
            #expect(application.apiKeys[second]?.revokedAt == nil)
            #expect(!FileManager.default.fileExists(atPath: merchant.path))
        }
    }
}
