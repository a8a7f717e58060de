import StoreKit
import Testing

/// What code written for Apple's StoreKit does with optional methods and with the delegate of a products request.
@Suite(.timeLimit(.minutes(1)))
struct OptionalMethodsTests {
    private final class ProductsRequest: SKProductsRequest {
        override func start() {
            delegate?.productsRequest(self, didReceive: SKProductsResponse())
            delegate?.requestDidFinish?(self)
            delegate?.request?(self, didFailWithError: SKError(.unknown))
            delegate?.request!(self, didFailWithError: SKError(.paymentCancelled))
        }
    }

    private final class RefreshRequest: SKReceiptRefreshRequest {
        override func start() {
            delegate?.requestDidFinish?(self)
            delegate?.requestDidFinish(self)
        }
    }

    private final class HeldRequest: SKProductsRequest {
        weak var held: (any SKProductsRequestDelegate)?
        override weak var delegate: (any SKProductsRequestDelegate)? {
            get { held }
            set { held = newValue }
        }
    }

    /// Has members whose names are those of the optional methods, as clients do.
    private final class Client: NSObject, SKProductsRequestDelegate, SKPaymentTransactionObserver,
        SKPaymentQueueDelegate
    {
        private let request: SKProductsRequest
        private let paymentQueue: SKPaymentQueue
        var lines: [String] = []

        init(_ request: SKProductsRequest, paymentQueue: SKPaymentQueue) {
            self.request = request
            self.paymentQueue = paymentQueue
            super.init()
            self.request.delegate = self
        }

        func begin() {
            request.start()
            lines.append("\(type(of: paymentQueue))")
        }

        func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
            lines.append("received \(response.products.count)")
        }

        func requestDidFinish(_ request: SKRequest) { lines.append("finished") }

        func request(_ request: SKRequest, didFailWithError error: any Error) {
            lines.append("failed \((error as? SKError)?.code.rawValue ?? -1)")
        }

        func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {}

        func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
            lines.append("removed \(transactions.count)")
        }

        func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
            lines.append("restore failed")
        }

        func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { lines.append("restored") }

        func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
            lines.append("downloads \(downloads.count)")
        }

        func paymentQueue(
            _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
        ) -> Bool { true }

        func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { lines.append("storefront") }

        func paymentQueue(
            _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
        ) { lines.append("revoked \(productIdentifiers)") }

        func paymentQueue(
            _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
            in newStorefront: SKStorefront
        ) -> Bool { false }

        func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { false }
    }

    private final class PageDelegate: NSObject, SKStoreProductViewControllerDelegate {
        var finished = 0
        func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) { finished += 1 }
    }

    private final class Silent: NSObject, SKPaymentTransactionObserver, SKRequestDelegate {
        func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {}
    }

    @Test func `requests call optional methods with a question mark`() {
        let request = ProductsRequest()
        let client = Client(request, paymentQueue: SKPaymentQueue())
        client.begin()
        #expect(client.lines == ["received 0", "finished", "failed 0", "failed 2", "SKPaymentQueue"])
        let refresh = RefreshRequest()
        refresh.delegate = client
        refresh.start()
        #expect(client.lines.suffix(2) == ["finished", "finished"])
    }

    @Test func `queues call optional methods with a question mark`() {
        let queue = SKPaymentQueue()
        let client = Client(SKProductsRequest(), paymentQueue: queue)
        let observer: (any SKPaymentTransactionObserver)? = client
        observer?.paymentQueue?(queue, removedTransactions: [])
        observer?.paymentQueue?(queue, restoreCompletedTransactionsFailedWithError: SKError(.unknown))
        observer?.paymentQueueRestoreCompletedTransactionsFinished?(queue)
        observer?.paymentQueue?(queue, updatedDownloads: [])
        observer?.paymentQueueDidChangeStorefront?(queue)
        observer?.paymentQueue?(queue, didRevokeEntitlementsForProductIdentifiers: ["p"])
        #expect(
            client.lines == [
                "removed 0", "restore failed", "restored", "downloads 0", "storefront", "revoked [\"p\"]",
            ])
        #expect(observer?.paymentQueue?(queue, shouldAddStorePayment: SKPayment(), for: SKProduct()) == true)
        let delegate: (any SKPaymentQueueDelegate)? = client
        #expect(
            delegate?.paymentQueue?(queue, shouldContinue: SKPaymentTransaction(), in: SKStorefront()) == false)
        #expect(delegate?.paymentQueueShouldShowPriceConsent?(queue) == false)
        let page = PageDelegate()
        let pageDelegate: (any SKStoreProductViewControllerDelegate)? = page
        pageDelegate?.productViewControllerDidFinish?(SKStoreProductViewController())
        #expect(page.finished == 1)
        let silent: any SKPaymentTransactionObserver = Silent()
        #expect(silent.paymentQueue?(queue, shouldAddStorePayment: SKPayment(), for: SKProduct()) == false)
    }

    @Test func `a products request has a delegate of its own type`() {
        let client = Client(SKProductsRequest(), paymentQueue: SKPaymentQueue())
        let silent = Silent()
        let request = SKProductsRequest(productIdentifiers: ["p"])
        request.delegate = client
        let typed: (any SKProductsRequestDelegate)? = request.delegate
        #expect(typed === client && (request as SKRequest).delegate === client)
        (request as SKRequest).delegate = silent
        #expect(request.delegate == nil && (request as SKRequest).delegate === silent)
        let held = HeldRequest()
        held.delegate = client
        #expect(held.held === client && (held as SKProductsRequest).delegate === client)
    }
}
