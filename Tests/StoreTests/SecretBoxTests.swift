import Foundation
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct SecretBoxTests {
    @Test func aSecretOpensWithItsKeyAtItsPlaceInItsStore() throws {
        let (key, store) = (StoreKey(), UUID())
        let box = SecretBox(key, store: store)
        for secret in [[], [7], Array(repeating: 9, count: 10_000)] as [[UInt8]] {
            let sealed: [UInt8] = try box.seal(secret, as: "a")
            #expect(sealed.count == secret.count + 29)
            #expect(try SecretBox(key, store: store).open(sealed, as: "a") == secret)
            #expect(try box.seal(secret, as: "a") != sealed)
            let others = [
                (SecretBox(key, store: UUID()), "a"), (SecretBox(StoreKey(), store: store), "a"), (box, "b"),
            ]
            for (other, place) in others {
                let error = #expect(throws: StoreSecretsError.self) { _ = try other.open(sealed, as: place) }
                #expect(error?.code == .secretDamaged)
            }
        }
    }

    @Test func everyChangedOctetIsFound() throws {
        let box = SecretBox(StoreKey(), store: UUID())
        let sealed: [UInt8] = try box.seal(Array("secret".utf8), as: "a")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            let damaged = changed
            #expect(throws: StoreSecretsError.self) { _ = try box.open(damaged, as: "a") }
            #expect(throws: StoreSecretsError.self) { _ = try box.open(Array(sealed.prefix(index)), as: "a") }
        }
        #expect(throws: StoreSecretsError.self) { _ = try box.open(sealed + [0], as: "a") }
    }

    @Test func textsAreSealedAsTexts() throws {
        let box = SecretBox(StoreKey(), store: UUID())
        let sealed: String = try box.seal("Grüße", as: "a")
        #expect(sealed.hasPrefix("sealed:"))
        let octets = try #require(Data(base64Encoded: String(sealed.dropFirst("sealed:".count))))
        #expect(Array(octets).firstRange(of: Array("Grüße".utf8)) == nil)
        #expect(try box.open(sealed, as: "a") == "Grüße")
        for wrong in ["Grüße", "", "sealed:", "sealed:%", String(sealed.dropLast(4))] {
            #expect(throws: StoreSecretsError.self) { _ = try box.open(wrong, as: "a") }
        }
    }

    @Test func aKeyIsThirtyTwoOctetsAndNeverDescribed() throws {
        let key = StoreKey()
        #expect(try StoreKey(base64: " \(key.base64)\n") == key)
        #expect(StoreKey() != key)
        let text = key.base64
        for wrong in ["", "x", "AAAA", text + "AAAA", String(text.dropLast(4)), String(repeating: "A", count: 10_000)] {
            let error = #expect(throws: StoreSecretsError.self) { _ = try StoreKey(base64: wrong) }
            #expect(error?.code == .keyUnusable)
        }
        var dumped = "\(key) \(String(reflecting: key)) "
        dump(key, to: &dumped)
        #expect(dumped.contains("StoreKey") && !dumped.contains(text))
    }

    @Test func onlyTheOwnerMayReadAKeysFile() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let (key, file) = (StoreKey(), directory.url.appendingPathComponent("store.key"))
            func write(_ text: String, mode: Int) {
                _ = FileManager.default.createFile(
                    atPath: file.path, contents: Data(text.utf8),
                    attributes: [.posixPermissions: NSNumber(value: mode)])
            }
            #expect(throws: StoreSecretsError.self) { _ = try StoreKey.read(file: file) }
            write(key.base64 + "\n", mode: 0o600)
            #expect(try StoreKey.read(file: file) == key)
            write(key.base64 + "\n", mode: 0o640)
            #expect(throws: StoreSecretsError.self) { _ = try StoreKey.read(file: file) }
            write(String(repeating: " ", count: 2_000) + key.base64, mode: 0o600)
            #expect(throws: StoreSecretsError.self) { _ = try StoreKey.read(file: file) }
        }
    }
}
