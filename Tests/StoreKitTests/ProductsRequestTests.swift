import Foundation
import StoreWire
import Synchronization
import Testing

@testable import StoreKit

@Suite("SKProductsRequest", .timeLimit(.minutes(1)))
struct ProductsRequestTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    // @unchecked: `ended` is a continuation, the rest is constant.
    private final class Delegate: NSObject, SKProductsRequestDelegate, @unchecked Sendable {
        let told: AsyncStream<String>
        private let tell: AsyncStream<String>.Continuation
        override init() { (told, tell) = AsyncStream.makeStream() }

        func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
            let products = response.products.map { "\($0.productIdentifier) \($0.price) \($0.localizedTitle)" }.sorted()
            tell.yield("received \(products) \(response.invalidProductIdentifiers)")
        }
        func requestDidFinish(_ request: SKRequest) { tell.yield("finished") }
        func request(_ request: SKRequest, didFailWithError error: any Error) {
            tell.yield("failed \(error is SKError)")
        }

        func next(_ count: Int) async -> [String] {
            var all: [String] = []
            for await line in told {
                all.append(line)
                if all.count == count { break }
            }
            return all
        }
    }

    private func run(_ identifiers: Set<String>, count: Int) async -> [String] {
        let delegate = Delegate()
        let tasks = TaskQueue()
        let request = SKProductsRequest(productIdentifiers: identifiers, engine: device.launch(), executor: tasks)
        request.delegate = delegate
        // The second call finds the first one's request under way.
        tasks.queue.suspend()
        request.start()
        request.start()
        tasks.queue.resume()
        return await delegate.next(count)
    }

    @Test func `products and invalid identifiers are delivered before the end`() async {
        let told = await run(["com.example.monkeys.credits5", "nope", ""], count: 2)
        #expect(told == ["received [\"com.example.monkeys.credits5 0.99 Credits\"] [\"\", \"nope\"]", "finished"])
    }

    @Test func `an impossible product identifier is invalid and is not requested`() async {
        // U+212A KELVIN SIGN is equal to K for Swift, and not for the store.
        let told = await run(["com.example.mon\u{212A}eys", "two words", "é"], count: 2)
        #expect(
            told == [
                "received [] [\"com.example.mon\u{212A}eys\", \"two words\", \"é\"]", "finished",
            ])
    }

    @Test func `an unavailable store is one failure, an SKError`() async {
        device.store.change { $0.isDown = true }
        #expect(await run(["a"], count: 1) == ["failed true"])
    }

    @Test func `many identifiers are requested in portions`() async {
        let many = Set((0..<2_500).map { "p\($0)" })
        let told = await run(many, count: 2)
        #expect(told.last == "finished")
        #expect(device.store.asked == ["products", "products", "products"])
    }

    @Test func `a cancelled request makes no calls and can be started again`() async {
        let delegate = Delegate()
        let request = SKProductsRequest(productIdentifiers: ["nope"], engine: device.launch())
        request.delegate = delegate
        request.start()
        request.cancel()
        request.start()
        #expect(await delegate.next(2) == ["received [] [\"nope\"]", "finished"])
    }

    @Test func `a subscription's period and offers have Apple's types`() throws {
        func offer(_ id: String?, _ mode: OfferDescription.PaymentMode) -> OfferDescription {
            OfferDescription(
                offerID: id, price: Money(milliunits: 500, currency: "EUR"), paymentMode: mode,
                period: SubscriptionPeriod(unit: .week, count: 2), numberOfPeriods: 3)
        }
        let product = SKProduct(
            ProductDescription(
                productID: "s", kind: .autoRenewableSubscription, displayName: "S", description: "D",
                price: Money(milliunits: 4_990, currency: "EUR"), priceLocale: "de_DE@currency=EUR",
                isFamilyShareable: true,
                subscription: SubscriptionDescription(
                    groupID: "g", groupName: "G", groupLevel: 1, period: SubscriptionPeriod(unit: .month, count: 1),
                    introductoryOffer: offer(nil, .free), promotionalOffers: [offer("o", .payUpFront)])))
        #expect(product.subscriptionPeriod?.unit == .month)
        #expect(product.subscriptionGroupIdentifier == "g")
        #expect(product.isFamilyShareable)
        let introductory = try #require(product.introductoryPrice)
        #expect(introductory.identifier == nil)
        #expect(introductory.type == .introductory)
        #expect(introductory.paymentMode == .freeTrial)
        #expect(introductory.subscriptionPeriod.numberOfUnits == 2)
        let discount = try #require(product.discounts.first)
        #expect(discount.type == .subscription)
        #expect(discount.price == NSDecimalNumber(string: "0.5"))
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        #expect(formatter.string(from: product.price) == "4,99\u{a0}€")
    }
}
