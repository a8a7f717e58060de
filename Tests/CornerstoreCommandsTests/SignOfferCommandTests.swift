import Crypto
import Foundation
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct SignOfferCommandTests {
    @Test func aSignedOfferIsBought() async throws {
        try await RunningStore.with(yaml: RunningStore.club) { store async throws in
            @Sendable func buy(_ options: String...) async throws -> ChildProcess.Result {
                try await Program.run(["buy", "club.monthly", "--data", store.data] + options)
            }
            #expect(try await buy().status == 0)
            #expect(await store.run("subscriptions cancel").status == 0)
            #expect(await store.run("clock advance 2mo").status == 0)
            let keyFile = store.directory.path("club.p8")
            let made = try await store.run("key make --app com.example.app --out \(keyFile) --json").output.object()
            let key = try #require(made["keyId"] as? String)
            let sign = "key sign-offer club.monthly --offer come-back --key \(key) --key-file \(keyFile)"
            let signed = await store.run(sign)
            #expect(signed.status == 0 && signed.output.split(separator: ".").count == 3)
            let document = try await store.run(sign + " --transaction 7 --json").output.object()
            #expect(document["offerId"] as? String == "come-back" && document["transactionId"] as? String == "7")
            #expect((document["compactJWS"] as? String)?.hasPrefix("ey") == true)
            let other = await store.run("key sign-offer club.monthly --offer a --key B --key-file \(keyFile)")
            #expect(other.status == 1 && other.errors.contains("has no key B"))

            // Files of other keys, which would sign what the store refuses.
            let second = store.directory.path("second.p8")
            let next = try await store.run("key make --app com.example.app --out \(second) --json").output.object()
            let nextID = try #require(next["keyId"] as? String)
            let mixed = await store.run(
                "key sign-offer club.monthly --offer come-back --key \(key) --key-file \(second)")
            #expect(mixed.status == 1 && mixed.output.isEmpty)
            #expect(mixed.errors.contains("does not contain the key \(key). It contains the key \(nextID)"), "\(mixed)")
            let foreign = store.directory.path("foreign.p8")
            try P256.Signing.PrivateKey().pemRepresentation.write(toFile: foreign, atomically: true, encoding: .utf8)
            let strange = await store.run("key sign-offer club.monthly --offer a --key \(key) --key-file \(foreign)")
            #expect(strange.status == 1 && strange.errors.contains("a key that this store did not make"), "\(strange)")

            let file = store.directory.path("offer.jws")
            try signed.output.write(toFile: file, atomically: true, encoding: .utf8)
            let wrong = try await buy("--offer", "other", "--offer-jws", file)
            #expect(wrong.status == 1)
            let bought = try await buy("--offer", "come-back", "--offer-jws", file)
            #expect(bought.status == 0, "\(bought.errors)")
            let row = try await store.run("transaction list --json").output.objects().first
            #expect(row?["price"] as? String == "1.99")
            #expect(await store.run("key revoke \(key)").status == 0)
            #expect(await store.run(sign).errors.contains("is revoked"))
        }
    }
}
