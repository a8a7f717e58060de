import ControlWire
import Crypto
import Foundation
import MerchantServer
import StoreReceipts
import StoreServer
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("Offers and pages over a real store", .timeLimit(.minutes(1)))
struct OfferJourneyTests {
    /// What the app's own server does.
    private func discount(_ offerID: String, username: String, at date: Date = Date()) throws -> SKPaymentDiscount {
        let key = try P256.Signing.PrivateKey(derRepresentation: #require(Data(base64Encoded: JourneyStore.offerKey)))
        let nonce = UUID()
        let timestamp = Int64(date.timeIntervalSince1970 * 1000)
        let message = [
            JourneyStore.bundleID.rawValue, "OFFERKEY01", "club.monthly", offerID, username.lowercased(),
            nonce.uuidString.lowercased(), "\(timestamp)",
        ].joined(separator: "\u{2063}")
        return SKPaymentDiscount(
            identifier: offerID, keyIdentifier: "OFFERKEY01", nonce: nonce,
            signature: try key.signature(for: Data(message.utf8)).derRepresentation.base64EncodedString(),
            timestamp: NSNumber(value: timestamp))
    }

    private func club(_ discount: SKPaymentDiscount?, username: String?) -> SKPayment {
        let payment = payment("club.monthly")
        payment.paymentDiscount = discount
        payment.applicationUsername = username
        return payment
    }

    @Test(arguments: Backend.available)
    func `an offer signed by the app's server is shown on the sheet, sold and in the receipt`(_ backend: Backend)
        async throws
    {
        try await JourneyStore.with(backend) { store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let app = JourneyApp(device.launch(), grants: Grants())
            // Nobody's customer yet: the offer is not for this account, and the device says so with Apple's code.
            app.queue.add(club(try discount("come-back", username: "Ape"), username: "Ape"))
            await app.told(3)
            #expect((app.latest?.error as? SKError)?.code == .ineligibleForOffer)
            app.queue.add(club(nil, username: nil))
            await app.told(6)
            try await store.cancelSubscriptions(of: "ape@example.com")
            #expect(try await store.control("PUT", "clock", #"{"advance":3456000000}"#).status == 200)
            // Signed for somebody else.
            app.queue.add(club(try discount("come-back", username: "Gorilla"), username: "Ape"))
            await app.told(9)
            app.queue.add(club(try discount("come-back", username: "Ape"), username: "Ape"))
            let history = await app.told(12)
            #expect(
                history.filter { $0.hasPrefix("updated") && !$0.contains("purchasing") } == [
                    "updated failed club.monthly", "updated purchased club.monthly", "updated failed club.monthly",
                    "updated purchased club.monthly",
                ])
            #expect(device.sheets.map(\.unitPrice) == [7.99, 5.99, 7.99, 7.99])
            let receipt = try await device.checkedReceipt()
            #expect(receipt.inApp.map(\.promotionalOfferID) == [nil, "come-back"])
            let purchases = try await device.ledger().purchases
            #expect(
                purchases.compactMap(\.failure).sorted() == ["ineligible_for_offer", "invalid_offer_signature"])
            #expect(purchases.map(\.amount).sorted() == [0, 0, 5990, 7990])
            await app.stop()
        }
    }

    @Test func `an offer signed as JWS is shown on the sheet and sold`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let app = JourneyApp(device.launch(), grants: Grants())
            app.queue.add(club(nil, username: nil))
            await app.told(3)
            try await store.cancelSubscriptions(of: "ape@example.com")
            #expect(try await store.control("PUT", "clock", #"{"advance":3456000000}"#).status == 200)
            let key = try P256.Signing.PrivateKey(
                derRepresentation: #require(Data(base64Encoded: JourneyStore.offerKey)))
            let signer = try StoreAPIKey(
                bundleID: JourneyStore.bundleID, keyID: "OFFERKEY01", issuerID: "an-issuer", pem: key.pemRepresentation)
            let offer = payment("club.monthly")
            offer.setPromotionalOffer(
                "come-back",
                compactJWS: try signer.promotionalOffer(
                    "come-back", of: "club.monthly", at: Int64(Date().timeIntervalSince1970)))
            app.queue.add(offer)
            await app.told(6)
            #expect(device.sheets.map(\.unitPrice) == [5.99, 7.99])
            #expect(try await device.checkedReceipt().inApp.map(\.promotionalOfferID) == [nil, "come-back"])
            await app.stop()
        }
    }

    @Test func `a page is found by the number of the app's receipts, and the product bought from it`() async throws {
        try await JourneyStore.with(.sqlite) { store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            var configuration = device.configuration()
            configuration.presenter = BuyingPresenter()
            let grants = Grants()
            let app = JourneyApp(device.launch(configuration), grants: grants)
            let reply = try await HTTPReply("GET", "\(store.addresses.control)/control/v1/apps")
            let number = try #require(
                try JSONDecoder().decode([ControlAPI.App].self, from: Data(reply.body)).first?.appId)
            let page = SKStoreProductViewController(engine: app.engine)
            #expect(
                try await page.loadProduct(withParameters: [
                    SKStoreProductParameterITunesItemIdentifier: number,
                    SKStoreProductParameterProductIdentifier: "credits5",
                ]))
            await page.present()
            let history = await app.told(3)
            #expect(history.last == "removed purchased credits5")
            #expect(grants.all.count == 1)
            await app.stop()
        }
    }

    private struct BuyingPresenter: StorePresenter {
        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
            page.appName == "Monkeys" && page.product?.formattedPrice == "$0.99" ? .buy : .done
        }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }
    }
}
