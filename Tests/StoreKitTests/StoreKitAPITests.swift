import StoreKit
import Testing

/// Code as apps and their tests write it against Apple's StoreKit: no `@testable`, and Foundation comes with StoreKit.
private final class PhoneStore: NSObject, SKProductsRequestDelegate, SKPaymentTransactionObserver {
    var request: SKProductsRequest?
    var products: [SKProduct] = []

    func start() {
        SKPaymentQueue.default().add(self)
        request = SKProductsRequest(productIdentifiers: ["a"])
        request?.delegate = self
        request?.start()
    }

    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products.sorted { $0.price.compare($1.price) == .orderedAscending }
        for identifier in response.invalidProductIdentifiers { print(identifier) }
    }

    func request(_ request: SKRequest, didFailWithError error: any Error) {}

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchased, .restored: queue.finishTransaction(transaction)
            case .failed:
                if let error = transaction.error as? SKError, error.code != .paymentCancelled {
                    print(error.localizedDescription)
                }
                queue.finishTransaction(transaction)
            case .purchasing, .deferred: break
            @unknown default: break
            }
        }
    }
}

private class MockProduct: SKProduct {
    override var productIdentifier: String { "mock" }
    override var price: NSDecimalNumber { 4.99 }
    override var priceLocale: Locale { Locale(identifier: "en_US") }
    override var localizedTitle: String { "Mock" }
    override var subscriptionPeriod: SKProductSubscriptionPeriod? { MockPeriod() }
    override var introductoryPrice: SKProductDiscount? { MockDiscount() }
}

private class MockPeriod: SKProductSubscriptionPeriod {
    override var numberOfUnits: Int { 3 }
    override var unit: SKProduct.PeriodUnit { .month }
}

private class MockDiscount: SKProductDiscount {
    override var paymentMode: SKProductDiscount.PaymentMode { .freeTrial }
    override var type: SKProductDiscount.`Type` { .introductory }
}

private class MockTransaction: SKPaymentTransaction, @unchecked Sendable {
    let mockPayment: SKPayment
    init(_ payment: SKPayment) {
        mockPayment = payment
        super.init()
    }
    override var payment: SKPayment { mockPayment }
    override var transactionState: SKPaymentTransactionState { .purchased }
    override var transactionIdentifier: String? { "1" }
    override var error: (any Error)? { SKError(.unknown) }
}

private class MockQueue: SKPaymentQueue, @unchecked Sendable {
    var finished: [SKPaymentTransaction] = []
    override func finishTransaction(_ transaction: SKPaymentTransaction) { finished.append(transaction) }
}

private class MockResponse: SKProductsResponse {
    override var products: [SKProduct] { [MockProduct()] }
}

extension Bundle {
    fileprivate var appStoreReceiptURL: URL? { storeReceiptURL }
}

private protocol Queueing { func add(_ payment: SKPayment) }
extension SKPaymentQueue: Queueing {}

@Suite("Code written for Apple's StoreKit", .timeLimit(.minutes(1)))
struct StoreKitAPITests {
    @Test func `mocks override read-only properties`() {
        let product = MockProduct()
        let payment = SKMutablePayment(product: product)
        payment.quantity = 2
        let transaction = MockTransaction(payment)
        let queue = MockQueue()
        PhoneStore().paymentQueue(queue, updatedTransactions: [transaction])
        #expect(queue.finished == [transaction])
        #expect(transaction.payment.productIdentifier == "mock")
        #expect(MockResponse().products.first?.introductoryPrice?.paymentMode == .freeTrial)
        #expect(product.subscriptionPeriod?.numberOfUnits == 3)
    }

    @Test func `payments compare and copy by value`() throws {
        let payment = SKMutablePayment()
        payment.productIdentifier = "a"
        payment.applicationUsername = "b"
        let copy = try #require(payment.copy() as? SKPayment)
        #expect(copy == payment)
        #expect(copy.hash == payment.hash)
        #expect(!(copy is SKMutablePayment))
        payment.quantity = 2
        #expect(copy != payment)
        #expect(copy.quantity == 1)
        let mutable = try #require(copy.mutableCopy() as? SKMutablePayment)
        mutable.simulatesAskToBuyInSandbox = true
        #expect(!copy.simulatesAskToBuyInSandbox)
        #expect(SKPayment.payment(withProductIdentifier: "x").productIdentifier == "x")
    }

    @Test func `SKError bridges to NSError with its domain, code and text`() throws {
        func fail() throws { throw SKError(.paymentCancelled, userInfo: [NSLocalizedDescriptionKey: "no"]) }
        do {
            try fail()
            Issue.record("nothing was thrown")
        } catch SKError.paymentCancelled {
        }
        let error = SKError(.paymentNotAllowed, userInfo: [NSLocalizedDescriptionKey: "not here"])
        let bridged = error as NSError
        #expect(bridged.domain == SKErrorDomain)
        #expect(bridged.domain == "SKErrorDomain")
        #expect(bridged.code == 4)
        #expect(error.localizedDescription == "not here")
        #expect((error as any Error).localizedDescription == "not here")
        #expect(SKError(_nsError: NSError(domain: SKErrorDomain, code: 2)).code == .paymentCancelled)
        #expect((error as any Error as? SKError)?.code == .paymentNotAllowed)
        #expect(SKError.Code(rawValue: 21) == nil)
        #expect(SKError.Code.overlayPresentedInBackgroundScene.rawValue == 20)
    }

    @Test func `raw values are Apple's`() {
        #expect(
            [SKPaymentTransactionState.purchasing, .purchased, .failed, .restored, .deferred].map(\.rawValue) == [
                0, 1, 2, 3, 4,
            ])
        #expect([SKProduct.PeriodUnit.day, .week, .month, .year].map(\.rawValue) == [0, 1, 2, 3])
        #expect([SKProductDiscount.PaymentMode.payAsYouGo, .payUpFront, .freeTrial].map(\.rawValue) == [0, 1, 2])
    }

    @Test func `adding a nil payment traps`() async {
        await #expect(processExitsWith: .failure) { SKPaymentQueue().add(SKPayment()) }
        await #expect(processExitsWith: .failure) {
            let payment = SKMutablePayment()
            payment.productIdentifier = "a"
            payment.quantity = 0
            SKPaymentQueue().add(payment)
        }
    }

    @Test func `finishing while purchasing traps`() async {
        await #expect(processExitsWith: .failure) { SKPaymentQueue().finishTransaction(SKPaymentTransaction()) }
    }
}
