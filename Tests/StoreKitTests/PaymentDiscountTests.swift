import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("Promotional offers on the device", .timeLimit(.minutes(1)))
struct PaymentDiscountTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private static let nonce = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    private func discounted() -> SKPayment {
        let payment = payment()
        payment.applicationUsername = "ape"
        payment.paymentDiscount = SKPaymentDiscount(
            identifier: "half", keyIdentifier: "K1", nonce: Self.nonce, signature: "c2ln",
            timestamp: NSNumber(value: 1_700_000_000_123))
        return payment
    }

    private static let signed = SignedOffer(
        offerID: "half", keyID: "K1", nonce: nonce, signature: "c2ln", timestamp: 1_700_000_000_123)

    @Test func `a discount reaches the store, also after a relaunch`() async throws {
        // The sheet is up; the store is away when the purchase is to be sent, and the app ends.
        device.store.failNext("purchases", .lostRequest)
        let timer = ManualTimer()
        var engine = device.launch(timer: timer)
        var observer = GrantBook().observer()
        var queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        queue.add(discounted())
        try await until { !timer.delays.isEmpty }
        await engine.stop()
        #expect(device.store.purchases.isEmpty)

        engine = device.launch()
        observer = GrantBook().observer()
        queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        await observer.wait { $0.contains { $0.hasPrefix("removed purchased") } }
        #expect(device.store.purchases.values.map(\.request.offer) == [Self.signed])
        await engine.stop()
    }

    @Test func `a payment without a discount sends no offer`() async throws {
        let engine = device.launch()
        let observer = GrantBook().observer()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        queue.add(payment())
        await observer.wait { $0.contains { $0.hasPrefix("removed purchased") } }
        #expect(device.store.purchases.values.map(\.request.offer) == [nil])
        let body = try JSONEncoder().encode(try #require(device.store.purchases.values.first?.request))
        #expect(!String(decoding: body, as: UTF8.self).contains("offer"))
        await engine.stop()
    }

    @Test func `a JWS reaches the store instead of a discount`() async throws {
        let engine = device.launch()
        let observer = GrantBook().observer()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        let payment = try #require(discounted().mutableCopy() as? SKMutablePayment)
        payment.setPromotionalOffer("half", compactJWS: "a.b.c")
        #expect(payment.paymentDiscount == nil && payment != discounted())
        queue.add(payment)
        await observer.wait { $0.contains { $0.hasPrefix("removed purchased") } }
        let request = try #require(device.store.purchases.values.first?.request)
        #expect(request.offerJWS == OfferJWS(offerID: "half", compactJWS: "a.b.c") && request.offer == nil)
        await engine.stop()

        payment.paymentDiscount = discounted().paymentDiscount
        #expect(payment == discounted())
    }

    @Test(
        arguments: [
            (.invalidOfferIdentifier, .invalidOfferIdentifier), (.invalidOfferSignature, .invalidSignature),
            (.missingOfferParameters, .missingOfferParams), (.invalidOfferPrice, .invalidOfferPrice),
            (.ineligibleForOffer, .ineligibleForOffer),
        ] as [(WireError.Code, SKError.Code)])
    func `a refused offer has Apple's code`(wire: WireError.Code, code: SKError.Code) async throws {
        device.store.failNext("purchases", .refusal(409, WireError(code: wire, message: "Not this offer.")))
        let engine = device.launch()
        // The app leaves the failed transaction in the queue.
        let observer = ObserverRecorder()
        let queue = SKPaymentQueue(engine: engine)
        queue.add(observer)
        queue.add(discounted())
        await observer.wait { $0.last?.hasPrefix("updated failed") == true }
        let transaction = try #require(queue.transactions.first)
        #expect((transaction.error as? SKError)?.code == code)
        #expect(transaction.payment.paymentDiscount?.nonce == Self.nonce)
        await engine.stop()
    }

    @Test func `the signed text is Apple's`() {
        #expect(
            Self.signed.message(bundleID: "com.example.a", productID: "p", applicationUsername: "Ape")
                == "com.example.a\u{2063}K1\u{2063}p\u{2063}half\u{2063}ape\u{2063}01020304-0506-0708-090a-0b0c0d0e0f10"
                + "\u{2063}1700000000123")
        #expect(
            Self.signed.message(bundleID: "b", productID: "p", applicationUsername: nil).contains(
                "\u{2063}half\u{2063}\u{2063}"))
    }

    @Test func `a journal without offers can be read`() throws {
        let json = #"{"productIdentifier":"p","quantity":2,"simulatesAskToBuyInSandbox":false}"#
        let values = try JSONDecoder().decode(PaymentValues.self, from: Data(json.utf8))
        #expect(values.offer == nil && values.quantity == 2)
    }
}
