import MerchantClient
import StoreKit

/// The app's shop, and the subscription's status. StoreKit and the app call it on the main queue.
///
/// A renewal is a purchased transaction like the first purchase. The receipt that StoreKit has written by then proves
/// it, so there is nothing for the app to save. The app finishes the transaction when its server has the receipt, or at
/// once when it has no server.
///
/// Each sample has a complete observer of its own, although parts are alike, so that it can be read without the others.
@MainActor
public final class MagazineStore: NSObject, @MainActor SKProductsRequestDelegate,
    @MainActor SKPaymentTransactionObserver
{
    /// An event for the user interface.
    public enum Event: Sendable, Equatable {
        /// The price list was loaded, or the request failed.
        case pricesChanged
        /// The receipt was read, and the server asked.
        case statusChanged
        /// A purchase or a restore failed.
        case failed(String)
        /// The reader cancelled. The app shows no message.
        case cancelled
        /// The purchase waits for approval.
        case deferred
        /// The restore is complete.
        case restored
        /// The payment queue changed.
        case queueChanged
    }

    /// The price list; nil until it is loaded.
    public private(set) var products: [SKProduct]?
    /// The status by the receipt; nil without a subscription.
    public private(set) var receipt: ReceiptStatus?
    /// Why the receipt could not be read; nil when it was.
    public private(set) var receiptProblem: String?
    /// The status by the server; nil without a server or a subscription.
    public private(set) var server: ServerStatus?
    /// Why the server did not answer; nil when it did.
    public private(set) var serverProblem: String?
    /// The client of the app's own server; nil for an app without one.
    public let merchant: MerchantClient?

    private let queue: SKPaymentQueue
    private let reader: ReceiptReader
    private let onEvent: (Event) -> Void
    private var priceRequest: SKProductsRequest?
    private var receiptRequest: SKReceiptRefreshRequest?
    /// Whether the prices could not be loaded.
    private var isNetworkDown = false
    private var isOpen = false
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    private var isLooking = false
    private var mustLookAgain = false
    /// The transactions that the server did not take. They stay in the queue until the next launch.
    private var leftForLater: Set<String> = []

    /// Creates a shop.
    public init(
        queue: SKPaymentQueue, reader: ReceiptReader, merchant: MerchantClient?, onEvent: @escaping (Event) -> Void
    ) {
        (self.queue, self.reader, self.merchant, self.onEvent) = (queue, reader, merchant, onEvent)
    }

    /// Starts to observe the queue, loads the prices and reads the receipt. Call it early at launch, because StoreKit
    /// delivers the renewals since the last launch at once.
    public func open() {
        isOpen = true
        if let merchant { Task { await merchant.open() } }
        queue.add(self)
        loadPrices()
        look()
    }

    /// Stops to observe the queue.
    public func close() async {
        isOpen = false
        priceRequest?.cancel()
        receiptRequest?.cancel()
        queue.remove(self)
        await merchant?.close()
    }

    /// Whether a purchase, a restore or a request is in progress. Deferred purchases do not count, because they may
    /// wait for days.
    public var isBusy: Bool {
        get async {
            if ordersNotSeen > 0 || isRestoring || isLooking || receiptRequest != nil { return true }
            let waits = queue.transactions.contains {
                $0.transactionState != .deferred && !leftForLater.contains($0.transactionIdentifier ?? "")
            }
            if waits { return true }
            return await merchant?.isBusy ?? false
        }
    }

    // MARK: The plans

    private func loadPrices() {
        let request = SKProductsRequest(productIdentifiers: Set(Plan.allCases.map(\.productIdentifier)))
        request.delegate = self
        // StoreKit does not retain a request, so the app does.
        priceRequest = request
        request.start()
    }

    /// Stores the loaded products.
    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products
    }

    /// Reports the loaded prices, or reads the fresh receipt.
    public func requestDidFinish(_ request: SKRequest) {
        if request === receiptRequest { return hasReceipt() }
        isNetworkDown = false
        onEvent(.pricesChanged)
    }

    /// Asks for the prices again after some seconds, or reads the receipt that is there.
    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        if request === receiptRequest {
            onEvent(.failed(error.localizedDescription))
            return hasReceipt()
        }
        if !isNetworkDown {
            isNetworkDown = true
            onEvent(.pricesChanged)
        }
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(3))
            if let self, self.isOpen { self.loadPrices() }
        }
    }

    /// Returns a plan's product; nil when the store does not sell it or the prices are not loaded.
    public func product(of plan: Plan) -> SKProduct? {
        products?.first { $0.productIdentifier == plan.productIdentifier }
    }

    /// Returns the label of a plan: its price and period, or the reason why it has no price.
    public func label(of plan: Plan) -> String {
        guard let product = product(of: plan) else {
            return products != nil ? "Not for sale" : isNetworkDown ? "Network down?" : "…"
        }
        // The store decides whether a reader gets the free time. It gives it once.
        guard receipt == nil, let free = product.freeTime else { return product.priceAndPeriod }
        return "\(product.priceAndPeriod), the first \(free) free"
    }

    /// Whether the reader has this plan now, by the receipt.
    public func has(_ plan: Plan) -> Bool { receipt.map { $0.plan == plan && $0.isActive } ?? false }

    // MARK: The status

    /// Fetches a fresh receipt, and then reads the status. A receipt on the disk does not change when the store
    /// refunds a period or cannot charge the next one.
    public func refresh() {
        guard receiptRequest == nil else { return }
        let request = SKReceiptRefreshRequest()
        request.delegate = self
        receiptRequest = request
        request.start()
    }

    private func hasReceipt() {
        receiptRequest = nil
        look()
    }

    /// Reads the receipt, sends it to the server, and asks the server for the status.
    private func look() {
        mustLookAgain = true
        guard !isLooking else { return }
        isLooking = true
        Task {
            while mustLookAgain {
                mustLookAgain = false
                await readReceipt()
                await askServer()
            }
            isLooking = false
            onEvent(.statusChanged)
        }
    }

    private func readReceipt() async {
        do {
            receipt = try await reader.status(at: Date())
            receiptProblem = nil
        } catch {
            receiptProblem = error.localizedDescription
        }
    }

    private func askServer() async {
        guard let merchant else { return }
        do throws(MerchantClientError) {
            if let bytes = reader.bytes { try await send(bytes, to: merchant) }
            server = ServerStatus(try await merchant.entitlements())
            serverProblem = nil
        } catch {
            serverProblem = error.localizedDescription
        }
    }

    /// The server learns from the receipt what happened since the last one, if the store did not tell it.
    private func send(_ receipt: Data, to merchant: MerchantClient) async throws(MerchantClientError) {
        do throws(MerchantClientError) {
            _ = try await merchant.redeem(receipt: receipt)
        } catch  where error.code == .refused {
            // There is no purchase in the receipt, or all of them are over.
        }
    }

    // MARK: Buying and restoring

    /// Buys a plan. With a server, the payment names the user, so that the subscription belongs to this user even if
    /// another one is signed in when the server hears of it.
    public func buy(_ product: SKProduct) {
        ordersNotSeen += 1
        Task {
            let payment = SKMutablePayment(product: product)
            do throws(MerchantClientError) {
                payment.applicationUsername = try await merchant?.account().accountToken
                queue.add(payment)
            } catch {
                ordersNotSeen -= 1
                onEvent(.failed(error.localizedDescription))
            }
        }
    }

    /// Restores the account's purchases. Apple requires a separate button for this.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    /// Handles the transactions' new states.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                if let merchant {
                    merchant.redeem(transaction, from: queue)
                } else {
                    queue.finishTransaction(transaction)
                }
            case .failed:
                if let error = transaction.error as? SKError, error.code == .paymentCancelled {
                    onEvent(.cancelled)
                } else {
                    onEvent(.failed(transaction.error?.localizedDescription ?? "The purchase failed."))
                }
                queue.finishTransaction(transaction)
            case .deferred:
                onEvent(.deferred)
            }
        }
        onEvent(.queueChanged)
    }

    /// Handles an event of the server's client. Call it on the main thread.
    public func heard(_ event: MerchantEvent) {
        switch event {
        case .refused(let purchase, let error) where error.reason == .expired || error.reason == .revoked:
            // A period that is over, such as an old renewal that the app hears of late. There is nothing to deliver.
            for transaction in queue.transactions where transaction.transactionIdentifier == purchase.transactionID {
                queue.finishTransaction(transaction)
            }
        case .refused(let purchase, let error), .waiting(let purchase, let error, _):
            leftForLater.insert(purchase.transactionID)
            onEvent(.failed(error.localizedDescription))
        default: break
        }
        onEvent(.queueChanged)
    }

    /// Reads the status after transactions left the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        look()
        onEvent(.queueChanged)
    }

    /// Reads the status after a refund. StoreKit has fetched the receipt that shows it.
    public func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        look()
    }

    /// Reports a complete restore, and reads the status.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        isRestoring = false
        look()
        onEvent(.restored)
    }

    /// Reports a failed or cancelled restore.
    public func paymentQueue(
        _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {
        isRestoring = false
        if let error = error as? SKError, error.code == .paymentCancelled {
            onEvent(.cancelled)
        } else {
            onEvent(.failed(error.localizedDescription))
        }
    }
}
