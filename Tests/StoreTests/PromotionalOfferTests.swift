import Crypto
import Foundation
import StoreReceipts
import StoreWire
import TestSupport
import Testing

@testable import Store

/// The app's server, which chooses who gets an offer.
struct OfferSigner {
    let key = P256.Signing.PrivateKey()

    var catalog: Catalog { get throws { try catalog(price: "5.99") } }

    /// - Parameter edit: changes the file's text.
    func catalog(price: String, _ edit: (String) -> String = { $0 }) throws -> Catalog {
        let text = """
            cornerstore-catalog: 1
            apps:
              - bundleID: com.example.monkeys
                products: [{ productID: hats, type: NonConsumable, displayPrice: 2.99 }]
                subscriptionGroups:
                  - id: "21000001"
                    name: Club
                    subscriptions:
                      - productID: club.monthly
                        groupNumber: 1
                        recurringSubscriptionPeriod: P1M
                        displayPrice: \(price)
                        introductoryOffers: [{ paymentMode: free, subscriptionPeriod: P1W }]
                        adHocOffers:
                          - { offerID: half, paymentMode: payAsYouGo, displayPrice: 2.99, subscriptionPeriod: P1M, numberOfPeriods: 3 }
                          - { offerID: block, paymentMode: payUpFront, displayPrice: 9.99, subscriptionPeriod: P1M, numberOfPeriods: 2 }
                          - { offerID: gift, paymentMode: free, subscriptionPeriod: P1W, numberOfPeriods: 2 }
                          - { offerID: Kind, paymentMode: free, subscriptionPeriod: P1W }
                          - { offerID: dear, paymentMode: payAsYouGo, displayPrice: 99.99, subscriptionPeriod: P1M }
                xcode:
                  subscriptionOffersKeyPair:
                    id: K1
                    privateKey: \(key.derRepresentation.base64EncodedString())
            """
        return try Catalog(apps: try CornerstoreCatalogFile.read(Array(edit(text).utf8), file: "offers.yaml").apps)
    }

    func offer(
        _ id: String, product: ProductID = "club.monthly", username: String? = nil, nonce: UUID = UUID(),
        at timestamp: Int64, keyID: String = "K1"
    ) throws -> SignedOffer {
        var offer = SignedOffer(offerID: id, keyID: keyID, nonce: nonce, signature: "", timestamp: timestamp)
        // Put together by hand: what Apple documents, not what the store happens to do.
        let message =
            "com.example.monkeys\u{2063}\(keyID)\u{2063}\(product)\u{2063}\(id)\u{2063}\((username ?? "").lowercased())\u{2063}"
            + "\(nonce.uuidString.lowercased())\u{2063}\(timestamp)"
        offer.signature = try key.signature(for: Data(message.utf8)).derRepresentation.base64EncodedString()
        return offer
    }
}

@Suite("Promotional offers", .timeLimit(.minutes(1))) struct PromotionalOfferTests {
    private let signer = OfferSigner()

    private func request(
        _ test: TestStore, _ offer: SignedOffer?, product: ProductID = "club.monthly", username: String? = nil,
        key: UUID = UUID(), asksToBuy: Bool = false, agreed: Int64? = nil
    ) -> PurchaseRequest {
        var request = test.request(
            product, key: key, username: username, asksToBuy: asksToBuy,
            agreedPrice: agreed.map { Money(milliunits: $0, currency: "USD") })
        request.offer = offer
        return request
    }

    /// An account whose subscription is over.
    private func lapsed(_ test: TestStore, _ email: String = "ape@example.com") async throws -> Account {
        test.store.catalog.replace(with: try signer.catalog)
        let account = try await test.account(email)
        try await test.buy("club.monthly", by: account)
        try await test.cancelSubscriptions(of: account)
        test.clock.milliseconds += 8 * 86_400_000
        return account
    }

    @Test(
        arguments: Backend.available,
        [("half", 2990, 28), ("block", 9990, 59), ("gift", 0, 14)] as [(String, Int64, Int64)])
    func aSignedOfferIsSoldAtItsPriceForItsPeriod(_ backend: Backend, _ sold: (String, Int64, Int64)) async throws {
        try await backend.withStore { test async throws in
            let account = try await lapsed(test)
            // From 11 February 2026: one month is 28 days, two are 59. The clocks change on 8 March, so both are an
            // hour shorter.
            let offer = try signer.offer(sold.0, username: "Ape-7", at: test.clock.milliseconds)
            let response = try await test.store.purchase(
                request(test, offer, username: "Ape-7", agreed: sold.1), by: account)
            let transaction = try #require(response.transaction)
            let row = try #require(try await test.ledger().last)
            #expect(row.price.milliunits == sold.1 && row.promotionalOfferID == sold.0 && row.offer == nil)
            let hours = (try #require(transaction.expiresDate) - transaction.purchaseDate) / 3_600_000
            #expect(hours == sold.2 * 24 - (sold.2 > 25 ? 1 : 0))
            let receipt = try await AppReceipt(test.appReceipt(account))
            #expect(receipt.inApp.last?.promotionalOfferID == sold.0)
            #expect(receipt.inApp.first?.promotionalOfferID == nil)
            #expect(receipt.inApp.last?.isTrialPeriod == false)
            let answer = try await test.verify(test.appReceipt(account), password: test.sharedSecret)
            // The newest period comes first.
            #expect(
                answer.latest.map { $0["promotional_offer_id"] as? String }
                    == receipt.inApp.reversed().map(\.promotionalOfferID))
        }
    }

    /// An offer for the product that the account has begins with the next renewal.
    @Test(arguments: Backend.available) func anOfferForTheCurrentPlanBeginsWithTheRenewal(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try signer.catalog)
            let account = try await test.account()
            let first = try await test.buy("club.monthly", by: account)
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let response = try await test.store.purchase(request(test, offer, agreed: 2990), by: account)
            #expect(response.state == .purchased && response.transaction?.transactionID == first.transactionID)
            let id = first.originalTransactionID
            #expect(try await test.store.news(of: id, limit: 1).first?.type == .offerRedeemed)
            let pending = try await test.verify(test.appReceipt(account), password: test.sharedSecret).pending.first
            #expect(pending?["promotional_offer_id"] as? String == "half")
            // Three months at half the price, then the whole one.
            for _ in 0..<4 { try await test.store.changeClock { try $0.advance(months: 1) } }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [0, 2990, 2990, 2990, 5990])
            #expect(ledger.map(\.promotionalOfferID) == [nil, "half", "half", "half", nil])
        }
    }

    @Test(arguments: Backend.available) func aRepeatedKeyIsTheSamePurchaseAndANonceIsValidOnce(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await lapsed(test)
            let other = try await lapsed(test, "other@example.com")
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let first = request(test, offer)
            let answer = try await test.store.purchase(first, by: account)
            #expect(answer.state == .purchased)
            #expect(try await test.store.purchase(first, by: account) == answer)
            // The same signature for another purchase.
            let again = try await test.store.purchase(request(test, offer), by: other)
            #expect(again.failure?.code == .invalidOfferSignature)
            // The same key for another offer.
            var changed = first
            changed.offer = try signer.offer("block", at: test.clock.milliseconds)
            #expect(try await refusal { try await test.store.purchase(changed, by: account) } == .idempotencyKeyReused)
            #expect(try await test.count("offer_nonces") == 1)
        }
    }

    @Test(arguments: Backend.available) func manyPurchasesAtOnceUseANonceOnce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            var accounts: [Account] = []
            for number in 0..<6 { accounts.append(try await lapsed(test, "ape\(number)@example.com")) }
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let states = try await withThrowingTaskGroup(of: PurchaseResponse.self) { group in
                for account in accounts {
                    let request = request(test, offer)
                    group.addTask { try await test.store.purchase(request, by: account) }
                }
                return try await group.reduce(into: []) { $0.append($1.failure?.code ?? "purchased") }
            }
            #expect(states.count { $0 == "purchased" } == 1)
            #expect(states.count { $0 == .invalidOfferSignature } == 5)
            #expect(try await test.ledger().count { $0.promotionalOfferID == "half" } == 1)
        }
    }

    @Test func anInvalidOfferHasAReason() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let account = try await lapsed(test)
            let now = test.clock.milliseconds
            let day: Int64 = 86_400_000
            var tampered = try signer.offer("half", at: now)
            tampered.nonce = UUID()
            var empty = try signer.offer("half", at: now)
            empty.signature = ""
            var garbage = try signer.offer("half", at: now)
            garbage.signature = "????"
            let cases: [(SignedOffer, WireError.Code)] = [
                (tampered, .invalidOfferSignature), (empty, .missingOfferParameters), (garbage, .invalidOfferSignature),
                (try signer.offer("half", at: now, keyID: ""), .missingOfferParameters),
                (try signer.offer("", at: now), .missingOfferParameters),
                (try signer.offer("half", at: 0), .missingOfferParameters),
                (try signer.offer("half", at: now, keyID: "K2"), .invalidOfferSignature),
                (try OfferSigner().offer("half", at: now), .invalidOfferSignature),
                (try signer.offer("half", username: "else", at: now), .invalidOfferSignature),
                (try signer.offer("half", product: "club.yearly", at: now), .invalidOfferSignature),
                (try signer.offer("half", at: now - day - 1), .invalidOfferSignature),
                (try signer.offer("half", at: now + day + 1), .invalidOfferSignature),
                (try signer.offer("half", at: .max), .invalidOfferSignature),
                (try signer.offer("none", at: now), .invalidOfferIdentifier),
                (try signer.offer("dear", at: now), .invalidOfferPrice),
                // U+212A KELVIN SIGN is no K.
                (try signer.offer("\u{212A}ind", at: now), .invalidOfferIdentifier),
                (try signer.offer("half", at: now, keyID: "\u{212A}1"), .invalidOfferSignature),
            ]
            for (offer, code) in cases {
                let response = try await test.store.purchase(request(test, offer), by: account)
                #expect(response.state == .failed && response.failure?.code == code, "\(offer)")
            }
            let hats = try signer.offer("half", product: "hats", at: now)
            let response = try await test.store.purchase(request(test, hats, product: "hats"), by: account)
            #expect(response.failure?.code == .invalidOfferIdentifier)
            // Someone new is not who the offer is for; who is subscribed has it already.
            let new = try await test.account("new@example.com")
            let fresh = try await test.store.purchase(request(test, try signer.offer("half", at: now)), by: new)
            #expect(fresh.failure?.code == .ineligibleForOffer)
            // The sheet showed another price than the offer's.
            let price = try await test.store.purchase(
                request(test, try signer.offer("half", at: now), agreed: 5990), by: account)
            #expect(price.failure?.code == .priceChanged)
            var long = try signer.offer("half", at: now)
            long.signature = String(repeating: "A", count: StoreLimits.offerSignature + 1)
            #expect(
                try await refusal { try await test.store.purchase(request(test, long), by: account) } == .invalidRequest
            )
            #expect(try await test.count("offer_nonces") == 0)
            // At the very edge of its day it is good.
            let edge = try await test.store.purchase(
                request(test, try signer.offer("half", at: now - day)), by: account)
            #expect(edge.state == .purchased)
        }
    }

    @Test(arguments: Backend.available) func anOfferThatNeedsApprovalIsSoldLaterAtItsPrice(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            let account = try await lapsed(test)
            let key = UUID()
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let waiting = try await test.store.purchase(
                request(test, offer, key: key, asksToBuy: true), by: account)
            #expect(waiting.state == .deferred)
            // The parent takes two days; the signature was good when it was used.
            test.clock.milliseconds += 2 * 86_400_000
            #expect(try await test.store.approve(key).state == .purchased)
            let row = try #require(try await test.ledger().last)
            #expect(row.promotionalOfferID == "half" && row.price.milliunits == 2990)
            #expect(try await test.count("offer_nonces") == 1)
        }
    }

    /// The request is for the next renewal, and the subscription is over when it is approved.
    @Test(arguments: Backend.available) func anOfferThatIsApprovedAfterTheEndBeginsAtOnce(_ backend: Backend)
        async throws
    {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try signer.catalog)
            let account = try await test.account()
            try await test.buy("club.monthly", by: account)
            let key = UUID()
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let waiting = try await test.store.purchase(
                request(test, offer, key: key, asksToBuy: true), by: account)
            #expect(waiting.state == .deferred)
            try await test.cancelSubscriptions(of: account)
            test.clock.milliseconds += 8 * 86_400_000
            #expect(try await test.store.approve(key).state == .purchased)
            for _ in 0..<3 { try await test.store.changeClock { try $0.advance(months: 1) } }
            let ledger = try await test.ledger()
            #expect(ledger.map(\.price.milliunits) == [0, 2990, 2990, 2990, 5990])
            #expect(ledger.map(\.promotionalOfferID) == [nil, "half", "half", "half", nil])
        }
    }

    @Test(arguments: Backend.available) func anInterruptedPurchaseTakesItsOffersNonce(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            let made = try await lapsed(test)
            let account = try await test.store.accounts.change(
                made.accountID, AccountChange(interruptsPurchases: true))
            let key = UUID()
            let offer = try signer.offer("half", at: test.clock.milliseconds)
            let interrupted = try await test.store.purchase(request(test, offer, key: key), by: account)
            #expect(interrupted.failure?.code == .interrupted)
            #expect(try await test.store.purchase(request(test, offer, key: key), by: account) == interrupted)
            // The same signature for another purchase, interrupted or not.
            let again = try await test.store.purchase(request(test, offer), by: account)
            #expect(again.failure?.code == .invalidOfferSignature)
            let other = try await lapsed(test, "other@example.com")
            let others = try await test.store.purchase(request(test, offer), by: other)
            #expect(others.failure?.code == .invalidOfferSignature)
            // The price was halved again, or is above the product's: what was agreed to is sold.
            test.store.catalog.replace(with: try signer.catalog(price: "1.99"))
            #expect(try await test.store.resolve(key).state == .purchased)
            let row = try #require(try await test.ledger().last)
            #expect(row.promotionalOfferID == "half" && row.price.milliunits == 2990)
            #expect(try await test.count("offer_nonces") == 1)
        }
    }

    @Test func anAppWithoutAKeyRefusesEverySignature() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let account = try await lapsed(test)
            let catalog = try signer.catalog
            var app = try #require(catalog.apps.first)
            app.unknown = ["subscriptionOffersKeyPair": .object(["id": .string("K1"), "privateKey": .string("AAAA")])]
            test.store.catalog.replace(with: try Catalog(apps: [app]))
            let response = try await test.store.purchase(
                request(test, try signer.offer("half", at: test.clock.milliseconds)), by: account)
            #expect(response.failure?.code == .invalidOfferSignature)
        }
    }
}

extension AppReceipt {
    /// Verified, as a merchant reads it.
    init(_ bytes: [UInt8]) async throws {
        let expectation = ReceiptExpectation(
            bundleID: TestStore.bundleID.rawValue, applicationVersion: "7",
            deviceIdentifier: withUnsafeBytes(of: TestStore.device.uuid) { Array($0) })
        let authority = try await TestAuthority.value
        switch await (try ReceiptVerifier(roots: [authority.receiptRoot])).verify(bytes, expecting: expectation) {
        case .verified(let verified): self = verified.receipt
        case .rejected(let rejection): throw rejection
        }
    }
}

@Suite("The store's pages by number", .timeLimit(.minutes(1))) struct StoreItemTests {
    private func items(_ test: TestStore, _ itemIDs: [Int64], account: Account? = nil) async throws -> [StoreItem]? {
        try await test.store.products(
            ProductsRequest(bundleID: TestStore.bundleID, productIDs: [], languages: ["en"], itemIDs: itemIDs),
            for: account
        ).items
    }

    @Test func appsAndProductsAreFoundByTheirNumbers() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let monkeys = try #require(test.store.catalog.value.app(TestStore.bundleID))
            let other = try #require(test.store.catalog.value.app("com.example.other"))
            let thing = try #require(other.product("thing"))
            let receiptNumber = try #require(test.store.apps[TestStore.bundleID]?.appID)
            let found = try #require(try await items(test, [thing.itemID, monkeys.itemID, 5, receiptNumber]))
            #expect(found.map(\.itemID) == [thing.itemID, monkeys.itemID, receiptNumber])
            #expect(found.map(\.bundleID) == ["com.example.other", "com.example.monkeys", "com.example.monkeys"])
            #expect(found.map(\.appName) == ["Other", "Monkeys", "Monkeys"])
            #expect(found.map { $0.product?.productID } == ["thing", nil, nil])
            #expect(found[0].product?.price == Money(milliunits: 1990, currency: "USD"))
            #expect(try await items(test, []) == [])
            let request = ProductsRequest(bundleID: TestStore.bundleID, productIDs: [], languages: [])
            #expect(try await test.store.products(request, for: nil).items == nil)
        }
    }

    @Test func aProductThatTheStorefrontDoesNotSellHasNoPage() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let monkeys = try #require(test.store.catalog.value.app(TestStore.bundleID))
            let domestic = try #require(monkeys.product("domestic"))
            let german = try await test.account(storefront: "DEU")
            #expect(try await items(test, [domestic.itemID])?.count == 1)
            #expect(try await items(test, [domestic.itemID], account: german) == [])
        }
    }

    @Test func tooManyNumbersAreRefused() async throws {
        try await Backend.sqlite.withStore { test async throws in
            let many = Array(Int64(1)...Int64(StoreLimits.itemsInOneRequest + 1))
            #expect(try await refusal { try await items(test, many) } == .invalidRequest)
        }
    }
}
