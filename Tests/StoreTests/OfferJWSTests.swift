import CornerstoreEncoding
import Crypto
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

extension OfferSigner {
    /// Signs as Apple documents it, not as the store happens to.
    /// - Parameters:
    ///   - head: members of the header that differ.
    ///   - claims: claims that differ.
    ///   - other: the key that signs instead of the catalog's.
    func jws(
        _ id: String = "half", at milliseconds: Int64, nonce: String = UUID().uuidString, head: [String: Any] = [:],
        claims: [String: Any] = [:], by other: P256.Signing.PrivateKey? = nil
    ) throws -> OfferJWS {
        let header: [String: Any] = ["alg": "ES256", "kid": "K1", "typ": "JWT"]
        let payload: [String: Any] = [
            "iss": "57246542-96fe-1a63-e053-0824d011072a", "bid": "com.example.monkeys", "aud": "promotional-offer",
            "iat": Int(milliseconds / 1_000), "nonce": nonce, "productId": "club.monthly", "offerIdentifier": id,
        ]
        let parts = try [header.merging(head) { $1 }, payload.merging(claims) { $1 }].map {
            Base64URL.encoded(try JSONSerialization.data(withJSONObject: $0))
        }
        let signed = parts.joined(separator: ".")
        let signature = try (other ?? key).signature(for: Data(signed.utf8)).rawRepresentation
        return OfferJWS(offerID: id, compactJWS: signed + "." + Base64URL.encoded(signature))
    }
}

@Suite("Promotional offers signed as JWS", .timeLimit(.minutes(1))) struct OfferJWSTests {
    private let signer = OfferSigner()

    private func request(
        _ test: TestStore, _ offer: OfferJWS, key: UUID = UUID(), asksToBuy: Bool = false, agreed: Int64? = nil
    ) -> PurchaseRequest {
        var request = test.request(
            "club.monthly", key: key, asksToBuy: asksToBuy,
            agreedPrice: agreed.map { Money(milliunits: $0, currency: "USD") })
        request.offerJWS = offer
        return request
    }

    /// Accounts whose subscriptions are over.
    private func lapsed(_ test: TestStore, _ count: Int = 1) async throws -> [Account] {
        test.store.catalog.replace(with: try signer.catalog)
        var accounts: [Account] = []
        for number in 0..<count {
            let account = try await test.account("ape\(number)@example.com")
            try await test.buy("club.monthly", by: account)
            try await test.cancelSubscriptions(of: account)
            accounts.append(account)
        }
        test.clock.milliseconds += 8 * 86_400_000
        return accounts
    }

    @Test(arguments: Backend.available) func aJWSIsSoldOnceAtTheOffersPrice(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = try await lapsed(test, 2)
            let now = test.clock.milliseconds
            let own = try #require(try await test.ledger().first { $0.accountID == accounts[0].accountID })
            let nonce = UUID()
            let offer = try signer.jws(
                at: now, nonce: nonce.uuidString.lowercased(), claims: ["transactionId": "\(own.transactionID)"])
            // The offer is for the customer of the transaction.
            let stranger = try await test.store.purchase(request(test, offer), by: accounts[1])
            #expect(stranger.failure?.code == .invalidOfferSignature)
            let first = request(test, offer, agreed: 2990)
            let answer = try await test.store.purchase(first, by: accounts[0])
            #expect(answer.state == .purchased)
            let row = try #require(try await test.ledger().last)
            #expect(row.price.milliunits == 2990 && row.promotionalOfferID == "half" && row.offer == nil)
            #expect(try await test.store.purchase(first, by: accounts[0]) == answer)

            // The nonce was used, in whatever form and kind of signature it comes.
            var original = test.request("club.monthly")
            original.offer = try signer.offer("half", nonce: nonce, at: now)
            for again in [
                request(test, try signer.jws(at: now, nonce: nonce.uuidString.lowercased())),
                request(test, try signer.jws(at: now, nonce: nonce.uuidString)), original,
            ] {
                let response = try await test.store.purchase(again, by: accounts[1])
                #expect(response.failure?.code == .invalidOfferSignature)
            }
            #expect(try await test.count("offer_nonces") == 1)
            let fresh = try await test.store.purchase(request(test, try signer.jws(at: now)), by: accounts[1])
            #expect(fresh.state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func anAppTransactionNamesTheCustomer(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = try await lapsed(test, 2)
            let ids = try await test.database.read { connection in
                try accounts.map {
                    try AppCustomers.find($0.accountID, in: TestStore.bundleID, connection).appTransactionID
                }
            }
            let others = try signer.jws(
                at: test.clock.milliseconds, claims: ["transactionId": try #require(ids[1]).description])
            let refused = try await test.store.purchase(request(test, others), by: accounts[0])
            #expect(refused.failure?.code == .invalidOfferSignature)
            let own = try signer.jws(
                at: test.clock.milliseconds, claims: ["transactionId": try #require(ids[0]).description])
            #expect(try await test.store.purchase(request(test, own), by: accounts[0]).state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func aKeyOfTheServerAPISigns(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = try await lapsed(test, 2)
            let keys = try #require(test.store.apiKeys)
            let now = test.clock.milliseconds
            func offer(_ made: NewAPIKey, issuer: String? = nil) throws -> OfferJWS {
                try signer.jws(
                    at: now, head: ["kid": made.key.keyID], claims: ["iss": issuer ?? made.key.issuerID],
                    by: P256.Signing.PrivateKey(pemRepresentation: made.privateKey))
            }
            let made = try await keys.make(for: TestStore.bundleID, at: now)
            let foreign = try await keys.make(for: "com.example.other", at: now)
            for bad in [try offer(made, issuer: "else"), try offer(foreign)] {
                let response = try await test.store.purchase(request(test, bad), by: accounts[0])
                #expect(response.failure?.code == .invalidOfferSignature)
            }
            let good = try await test.store.purchase(request(test, try offer(made)), by: accounts[0])
            #expect(good.state == .purchased)
            _ = try await keys.revoke(made.key.keyID, at: now)
            let revoked = try await test.store.purchase(request(test, try offer(made)), by: accounts[1])
            #expect(revoked.failure?.code == .invalidOfferSignature)
        }
    }

    @Test(arguments: Backend.available) func manyPurchasesAtOnceUseAJWSOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let accounts = try await lapsed(test, 5)
            let offer = try signer.jws(at: test.clock.milliseconds)
            let states = try await withThrowingTaskGroup(of: PurchaseResponse.self) { group in
                for account in accounts {
                    let request = request(test, offer)
                    group.addTask { try await test.store.purchase(request, by: account) }
                }
                return try await group.reduce(into: []) { $0.append($1.failure?.code ?? "purchased") }
            }
            #expect(states.count { $0 == "purchased" } == 1)
            #expect(states.count { $0 == .invalidOfferSignature } == 4)
        }
    }

    @Test(arguments: Backend.available) func aJWSThatNeedsApprovalIsSoldLater(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await lapsed(test)[0]
            let key = UUID()
            let offer = try signer.jws(at: test.clock.milliseconds)
            let waiting = try await test.store.purchase(
                request(test, offer, key: key, asksToBuy: true), by: account)
            #expect(waiting.state == .deferred)
            test.clock.milliseconds += 2 * 86_400_000
            #expect(try await test.store.approve(key).state == .purchased)
            let row = try #require(try await test.ledger().last)
            #expect(row.promotionalOfferID == "half" && row.price.milliunits == 2990)
            #expect(try await test.count("offer_nonces") == 1)
        }
    }

    @Test(arguments: Backend.available) func aWrongJWSHasAReason(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let account = try await lapsed(test)[0]
            let now = test.clock.milliseconds
            let day: Int64 = 86_400_000
            let wrongClaims: [[String: Any]] = [
                ["bid": "com.example.other"], ["productId": "hats"], ["offerIdentifier": "gift"],
                ["aud": "introductory-offer-eligibility"], ["aud": "appstoreconnect-v1"], ["aud": NSNull()],
                ["iat": "soon"], ["iat": -1], ["iat": 1e300], ["iat": NSNull()], ["nonce": "one"],
                ["nonce": NSNull()], ["iss": NSNull()], ["transactionId": "1"], ["transactionId": "x"],
                ["transactionId": "700000000000000001"], ["transactionId": 1],
            ]
            let wrongHeads: [[String: Any]] = [
                ["alg": "none"], ["alg": "HS256"], ["alg": "ES384"], ["kid": "K2"], ["kid": NSNull()],
                // U+212A KELVIN SIGN is no K.
                ["kid": "\u{212A}1"], ["typ": "JOSE"], ["crit": ["b64"], "b64": false],
            ]
            var wrong = try wrongClaims.map { try signer.jws(at: now, claims: $0) }
            wrong += try wrongHeads.map { try signer.jws(at: now, head: $0) }
            wrong += [
                try signer.jws(at: now, by: P256.Signing.PrivateKey()), try OfferSigner().jws(at: now),
                try signer.jws(at: now - day - 1_000), try signer.jws(at: now + day + 1_000),
            ]
            // Parts of one JWS with those of another, and parts that are missing or too many.
            let (one, two) = (try signer.jws(at: now), try signer.jws(at: now))
            let parts = one.compactJWS.split(separator: ".").map(String.init)
            let others = two.compactJWS.split(separator: ".").map(String.init)
            let broken: [[String]] = [
                [parts[0], others[1], parts[2]], [parts[0], parts[1], others[2]], [parts[0], parts[1], ""],
                [parts[0], parts[1]], [parts[0], parts[1], parts[2], parts[2]], [parts[0], parts[1], "\(parts[2])="],
                ["", "", ""], ["?"], [String(repeating: "A", count: StoreLimits.offerJWS)],
            ]
            wrong += broken.map { OfferJWS(offerID: "half", compactJWS: $0.joined(separator: ".")) }
            let special: [(OfferJWS, WireError.Code)] = [
                (OfferJWS(offerID: "gift", compactJWS: one.compactJWS), .invalidOfferSignature),
                (OfferJWS(offerID: "", compactJWS: one.compactJWS), .missingOfferParameters),
                (OfferJWS(offerID: "half", compactJWS: ""), .missingOfferParameters),
                (try signer.jws("none", at: now), .invalidOfferIdentifier),
                (try signer.jws("dear", at: now), .invalidOfferPrice),
            ]
            for (offer, code) in wrong.map({ ($0, WireError.Code.invalidOfferSignature) }) + special {
                let response = try await test.store.purchase(request(test, offer), by: account)
                #expect(response.state == .failed && response.failure?.code == code, "\(offer)")
            }
            let new = try await test.account("new@example.com")
            let ineligible = try await test.store.purchase(request(test, one), by: new)
            #expect(ineligible.failure?.code == .ineligibleForOffer)

            let long = OfferJWS(
                offerID: "half", compactJWS: String(repeating: "A", count: StoreLimits.offerJWS + 1))
            var both = request(test, one)
            both.offer = try signer.offer("half", at: now)
            var winBack = request(test, one)
            winBack.winBackOfferID = "return"
            for refused in [
                request(test, long), request(test, OfferJWS(offerID: "\0", compactJWS: "a")), both, winBack,
            ] {
                #expect(try await refusal { try await test.store.purchase(refused, by: account) } == .invalidRequest)
            }
            #expect(try await test.count("offer_nonces") == 0)
            // Nearly a day old, and with an audience as an array.
            let last = try signer.jws(at: now - day + 1_000, claims: ["aud": ["promotional-offer"]])
            #expect(try await test.store.purchase(request(test, last), by: account).state == .purchased)
        }
    }
}
