import StoreKit
import Testing

// Tests in the wild make StoreKit's objects by subclassing them and overriding what is read-only. No `@testable` here:
// what an app cannot see, this file cannot see.

private class Product: SKProduct {
    override var localizedDescription: String { "d" }
    override var localizedTitle: String { "t" }
    override var price: NSDecimalNumber { 1.99 }
    override var priceLocale: Locale { Locale(identifier: "de_DE") }
    override var productIdentifier: String { "p" }
    override var isDownloadable: Bool { true }
    override var downloadContentLengths: [NSNumber] { [5, 7] }
    override var downloadContentVersion: String { "1.2" }
    override var isFamilyShareable: Bool { true }
    override var subscriptionPeriod: SKProductSubscriptionPeriod? { Period() }
    override var introductoryPrice: SKProductDiscount? { Discount() }
    override var subscriptionGroupIdentifier: String? { "g" }
    override var discounts: [SKProductDiscount] { [Discount()] }
}

private class Period: SKProductSubscriptionPeriod {
    override var numberOfUnits: Int { 2 }
    override var unit: SKProduct.PeriodUnit { .week }
}

private class Discount: SKProductDiscount {
    override var price: NSDecimalNumber { 0.5 }
    override var priceLocale: Locale { Locale(identifier: "de_DE") }
    override var identifier: String? { "o" }
    override var subscriptionPeriod: SKProductSubscriptionPeriod { Period() }
    override var numberOfPeriods: Int { 3 }
    override var paymentMode: SKProductDiscount.PaymentMode { .payUpFront }
    override var type: SKProductDiscount.`Type` { .subscription }
}

private class Payment: SKPayment {
    override var productIdentifier: String { "p" }
    override var requestData: Data? { nil }
    override var quantity: Int { 2 }
    override var applicationUsername: String? { "u" }
    override var simulatesAskToBuyInSandbox: Bool { true }
    override var paymentDiscount: SKPaymentDiscount? { PaymentDiscount() }
}

private class PaymentDiscount: SKPaymentDiscount, @unchecked Sendable {
    override var identifier: String { "o" }
    override var keyIdentifier: String { "k" }
    override var nonce: UUID { UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) }
    override var signature: String { "s" }
    override var timestamp: NSNumber { 7 }
}

private class Transaction: SKPaymentTransaction, @unchecked Sendable {
    override var error: (any Error)? { SKError(.clientInvalid) }
    override var original: SKPaymentTransaction? { SKPaymentTransaction() }
    override var payment: SKPayment { Payment() }
    override var downloads: [SKDownload] { [Download()] }
    override var transactionDate: Date? { Date(timeIntervalSince1970: 1) }
    override var transactionIdentifier: String? { "1" }
    override var transactionReceipt: Data? { Data() }
    override var transactionState: SKPaymentTransactionState { .restored }
}

private class Download: SKDownload, @unchecked Sendable {
    override var state: SKDownloadState { .finished }
    override var expectedContentLength: Int64 { 12 }
    override var contentIdentifier: String { "p" }
    override var contentVersion: String { "1.2" }
    override var contentURL: URL? { URL(fileURLWithPath: "/content") }
    override var error: (any Error)? { nil }
    override var progress: Float { 1 }
    override var timeRemaining: TimeInterval { 0 }
    override var transaction: SKPaymentTransaction { Transaction() }
    override class func contentURL(forProductID productID: String) -> URL? { URL(fileURLWithPath: "/" + productID) }
    override class func deleteContent(forProductID productID: String) {}
}

private class Storefront: SKStorefront, @unchecked Sendable {
    override var countryCode: String { "DEU" }
    override var identifier: String { "143443" }
}

private class Response: SKProductsResponse {
    override var products: [SKProduct] { [Product()] }
    override var invalidProductIdentifiers: [String] { ["q"] }
}

private class ProductsRequest: SKProductsRequest {
    override func start() {
        delegate?.productsRequest(self, didReceive: Response())
        delegate?.requestDidFinish(self)
    }
    override func cancel() { delegate?.request(self, didFailWithError: SKError(.unknown)) }
}

private class Queue: SKPaymentQueue, @unchecked Sendable {
    var calls: [String] = []
    override class func `default`() -> SKPaymentQueue { Queue() }
    override class func canMakePayments() -> Bool { false }
    override var storefront: SKStorefront? { Storefront() }
    override var transactions: [SKPaymentTransaction] { [Transaction()] }
    override var transactionObservers: [any SKPaymentTransactionObserver] { [] }
    override func add(_ payment: SKPayment) { calls.append("add \(payment.productIdentifier)") }
    override func add(_ observer: any SKPaymentTransactionObserver) { calls.append("add observer") }
    override func remove(_ observer: any SKPaymentTransactionObserver) { calls.append("remove observer") }
    override func finishTransaction(_ transaction: SKPaymentTransaction) { calls.append("finish") }
    override func start(_ downloads: [SKDownload]) { calls.append("start \(downloads.count)") }
    override func pause(_ downloads: [SKDownload]) { calls.append("pause \(downloads.count)") }
    override func resume(_ downloads: [SKDownload]) { calls.append("resume \(downloads.count)") }
    override func cancel(_ downloads: [SKDownload]) { calls.append("cancel \(downloads.count)") }
}

private class Page: SKStoreProductViewController {
    override func loadProduct(
        withParameters parameters: [String: Any], completionBlock block: ((Bool, (any Error)?) -> Void)? = nil
    ) { block?(parameters[SKStoreProductParameterITunesItemIdentifier] as? Int == 4, nil) }
}

private class Promotions: SKProductStorePromotionController, @unchecked Sendable {
    override func fetchStorePromotionVisibility(
        forProduct product: SKProduct,
        completionHandler: ((SKProductStorePromotionVisibility, (any Error)?) -> Void)? = nil
    ) { completionHandler?(.hide, nil) }
    override func fetchStorePromotionOrder(completionHandler: (([SKProduct], (any Error)?) -> Void)? = nil) {
        completionHandler?([], SKError(.unknown))
    }
}

private class Music: SKCloudServiceController, @unchecked Sendable {
    override class func authorizationStatus() -> SKCloudServiceAuthorizationStatus { .authorized }
    override func requestCapabilities() async throws -> SKCloudServiceCapability {
        [.musicCatalogPlayback, .addToCloudMusicLibrary]
    }
}

// Apps hide the queue and the requests behind protocols of their own.

private protocol PurchaseQueue: AnyObject {
    var transactions: [SKPaymentTransaction] { get }
    var storefront: SKStorefront? { get }
    func add(_ payment: SKPayment)
    func add(_ observer: any SKPaymentTransactionObserver)
    func remove(_ observer: any SKPaymentTransactionObserver)
    func finishTransaction(_ transaction: SKPaymentTransaction)
    func start(_ downloads: [SKDownload])
    func pause(_ downloads: [SKDownload])
    func resume(_ downloads: [SKDownload])
    func cancel(_ downloads: [SKDownload])
    static func canMakePayments() -> Bool
}
extension SKPaymentQueue: PurchaseQueue {}

private protocol Requesting: AnyObject {
    var delegate: (any SKRequestDelegate)? { get set }
    func start()
    func cancel()
}
extension SKRequest: Requesting {}

private protocol PromotionSetting {
    func promotionVisibility(for product: SKProduct) async throws -> SKProductStorePromotionVisibility
    func update(promotionVisibility: SKProductStorePromotionVisibility, for product: SKProduct) async throws
    func promotionOrder() async throws -> [SKProduct]
    func update(promotionOrder: [SKProduct]) async throws
}
extension SKProductStorePromotionController: PromotionSetting {}

private final class RequestLog: NSObject, SKProductsRequestDelegate {
    var lines: [String] = []
    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        lines.append("received \(response.products.map(\.productIdentifier)) \(response.invalidProductIdentifiers)")
    }
    func requestDidFinish(_ request: SKRequest) { lines.append("finished") }
    func request(_ request: SKRequest, didFailWithError error: any Error) {
        lines.append("failed \((error as NSError).code)")
    }
}

@Suite("The API: subclasses as apps' tests write them", .timeLimit(.minutes(1)))
struct SurfaceSubclassTests {
    @Test func `StoreKit reads overridden properties`() throws {
        let payment = Payment()
        let copy = try #require(payment.copy() as? SKPayment)
        #expect(copy.productIdentifier == "p" && copy.quantity == 2 && copy.applicationUsername == "u")
        #expect(copy.simulatesAskToBuyInSandbox)
        // The copy is a plain payment with a plain discount of the same values.
        #expect(copy.paymentDiscount == PaymentDiscount())
        #expect(copy.paymentDiscount?.hash == PaymentDiscount().hash)
        #expect(copy == payment)
        #expect(SKPayment(product: Product()).productIdentifier == "p")
        let download = Download()
        #expect(download.downloadState == .finished && download.contentLength == 12)
        #expect(Product().downloadable && Product().contentLengths == [5, 7] && Product().contentVersion == "1.2")
        #expect(Period() == Period() && Period().hash == Period().hash)
    }

    @Test func `a payment with another discount is another payment`() {
        let payment = SKMutablePayment()
        payment.productIdentifier = "p"
        let plain = payment.copy() as? SKPayment
        let nonce = UUID()
        payment.paymentDiscount = SKPaymentDiscount(
            identifier: "o", keyIdentifier: "k", nonce: nonce, signature: "c2ln", timestamp: 1_700_000_000_000)
        #expect(plain != payment)
        let discount = payment.paymentDiscount
        #expect(discount?.identifier == "o" && discount?.keyIdentifier == "k" && discount?.nonce == nonce)
        #expect(discount?.signature == "c2ln" && discount?.timestamp == 1_700_000_000_000)
        payment.paymentDiscount = nil
        #expect(plain == payment)
    }

    @Test func `objects created by an app are empty`() {
        #expect(SKProduct().productIdentifier == "" && SKProduct().price == 0 && !SKProduct().isDownloadable)
        #expect(SKProduct().downloadContentLengths.isEmpty && SKProduct().downloadContentVersion == "")
        #expect(SKPaymentTransaction().downloads.isEmpty && SKPaymentTransaction().transactionState == .purchasing)
        #expect(SKPayment().paymentDiscount == nil && SKPaymentDiscount().identifier == "")
        let download = SKDownload()
        #expect(download.state == .waiting && download.contentURL == nil && download.error == nil)
        #expect(download.timeRemaining == SKDownloadTimeRemainingUnknown && download.progress == 0)
        #expect(SKDownload.contentURL(forProductID: "p") == nil)
        #expect(SKDownload() != download)
        #expect(SKStorefront().countryCode == "" && SKProductsResponse().products.isEmpty)
    }

    @Test func `a mocked queue gets the app's calls`() {
        let queue = Queue()
        let hidden: any PurchaseQueue = queue
        let transaction = Transaction()
        hidden.add(transaction.payment)
        hidden.finishTransaction(transaction)
        hidden.start(transaction.downloads)
        hidden.pause(transaction.downloads)
        hidden.resume(transaction.downloads)
        hidden.cancel(transaction.downloads)
        #expect(queue.calls == ["add p", "finish", "start 1", "pause 1", "resume 1", "cancel 1"])
        #expect(hidden.storefront?.countryCode == "DEU" && hidden.transactions.count == 1)
        #expect(!Queue.canMakePayments() && Queue.default() is Queue)
        // A queue that nobody overrode leaves a foreign download alone.
        let download = SKDownload()
        SKPaymentQueue().start([download])
        #expect(download.state == .waiting)
    }

    @Test func `a mocked request calls its delegate`() {
        let log = RequestLog()
        let request = ProductsRequest(productIdentifiers: ["p"])
        let hidden: any Requesting = request
        hidden.delegate = log
        hidden.start()
        hidden.cancel()
        #expect(log.lines == ["received [\"p\"] [\"q\"]", "finished", "failed 0"])
    }

    @Test func `async variants go through the overridden completion handlers`() async throws {
        #expect(try await Page().loadProduct(withParameters: [SKStoreProductParameterITunesItemIdentifier: 4]))
        let promotions: any PromotionSetting = Promotions()
        #expect(try await promotions.promotionVisibility(for: Product()) == .hide)
        await #expect(throws: SKError.self) { _ = try await Promotions().promotionOrder() }
        #expect(Music.authorizationStatus() == .authorized)
        #expect(await Music.requestAuthorization() == .authorized)
        #expect(try await Music().requestCapabilities().rawValue == 257)
    }
}

/// What is declared only to say what to do instead. Nothing outside of such a context can name it.
@available(*, unavailable, message: "proof that the declarations are there")
private enum UnavailableSurface {
    typealias Types = (
        SKOverlay, SKOverlay.Position, SKOverlay.Configuration, SKOverlay.AppConfiguration,
        SKOverlay.AppClipConfiguration, SKOverlay.TransitionContext, any SKOverlayDelegate, SKAdNetwork,
        SKAdNetwork.CoarseConversionValue, SKAdImpression, SKANError, SKArcadeService,
        SKCloudServiceSetupViewController, any SKCloudServiceSetupViewControllerDelegate,
        SKCloudServiceSetupOptionsKey, SKCloudServiceSetupAction
    )
}
