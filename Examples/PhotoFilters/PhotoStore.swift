import PurchaseVault
import StoreKit

/// The shop of the app, written as for Apple's StoreKit. StoreKit calls it on the main queue, and so does the app.
@MainActor
public final class PhotoStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver {
    /// What the customer should hear of.
    public enum Event: Sendable, Equatable {
        /// The price list came, or could not be had.
        case pricesChanged
        /// A filter can be used now.
        case unlocked(PhotoFilter)
        /// A filter was refunded, and cannot be used any more.
        case revoked(PhotoFilter)
        /// A purchase or the restoring failed.
        case failed(String)
        /// The customer said no, which needs no words.
        case cancelled
        /// Waits for somebody's approval.
        case deferred
        /// All that was bought before is here.
        case restored
        /// Something in the queue came or went.
        case queueChanged
    }

    /// The price list; nil while it is on its way or cannot be had.
    public private(set) var products: [SKProduct]?
    private let queue: SKPaymentQueue
    private let vault: PurchaseVault
    private let onEvent: (Event) -> Void
    private var request: SKProductsRequest?
    /// Payments that were added and are not in the queue's list yet: adding is asynchronous.
    private var ordersNotSeen = 0
    /// Between asking for a restore and its last transaction's being in the vault.
    private var isRestoring = false
    private var hasRestored = false
    private var isReadingReceipt = false
    /// Transactions on their way into the vault.
    private var recordings = 0
    /// Transactions that could not be recorded. They stay in the queue and come again at the next launch.
    private var leftForLater: Set<String> = []

    public init(queue: SKPaymentQueue, vault: PurchaseVault, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.vault = vault
        self.onEvent = onEvent
    }

    /// Begins to listen, as early as the app can: unfinished purchases of earlier launches come right away.
    public func open(productsRequest: SKProductsRequest? = nil) {
        queue.add(self)
        let request =
            productsRequest
            ?? SKProductsRequest(productIdentifiers: Set(PhotoFilter.allCases.map(\.productIdentifier)))
        request.delegate = self
        self.request = request
        request.start()
    }

    public func close() {
        request?.cancel()
        queue.remove(self)
    }

    /// Whether something is under way. What waits for approval may wait for days.
    public var isBusy: Bool {
        ordersNotSeen > 0 || isRestoring || isReadingReceipt
            || queue.transactions.contains {
                $0.transactionState != .deferred && !leftForLater.contains($0.transactionIdentifier ?? "")
            }
    }

    // MARK: Prices

    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products
    }

    public func requestDidFinish(_ request: SKRequest) {
        onEvent(.pricesChanged)
    }

    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        onEvent(.pricesChanged)
    }

    public func product(of filter: PhotoFilter) -> SKProduct? {
        products?.first { $0.productIdentifier == filter.productIdentifier }
    }

    /// What stands beside a filter.
    public func label(of filter: PhotoFilter) -> String {
        if vault.isUnlocked(filter.productIdentifier) { return "yours" }
        guard let product = product(of: filter) else { return products == nil ? "Network down?" : "Not for sale" }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }

    // MARK: Buying and restoring

    public func buy(_ product: SKProduct) {
        ordersNotSeen += 1
        queue.add(SKPayment(product: product))
    }

    /// Brings what the account bought before to this device. Apple asks for a button of its own for this.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                unlock(transaction)
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

    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        onEvent(.queueChanged)
    }

    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        hasRestored = true
        tellWhenRestored()
    }

    /// The queue has told of all that it restored; the vault may still be writing it down. What was refunded is not
    /// among it: only the receipt, which is fresh now, says that it is gone.
    private func tellWhenRestored() {
        guard hasRestored, recordings == 0 else { return }
        hasRestored = false
        Task {
            await readReceipt()
            isRestoring = false
            onEvent(.restored)
        }
    }

    /// The customer was given the money back, and so gives the filters back. StoreKit says which, but the receipt, which
    /// is fresh when this is called, proves it: the vault takes back what that says was refunded, and nothing because
    /// of a name alone. (A filter that was bought twice and refunded once stays.)
    public func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        isReadingReceipt = true
        Task {
            await readReceipt()
            isReadingReceipt = false
            onEvent(.queueChanged)
        }
    }

    /// Brings the vault to where the receipt on this device is.
    private func readReceipt() async {
        do {
            for change in try await vault.recordReceipt() {
                switch change {
                case .unlocked(let identifier):
                    if let filter = PhotoFilter.named(identifier) { onEvent(.unlocked(filter)) }
                case .revoked(let identifier):
                    if let filter = PhotoFilter.named(identifier) { onEvent(.revoked(filter)) }
                case .credited, .alreadyRecorded: break
                }
            }
        } catch {
            onEvent(.failed("The receipt could not be read: \(error.localizedDescription)"))
        }
    }

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

    /// First into the vault, and with it on the disk; then the finish. The other way round, a crash in between would lose
    /// what was paid for.
    private func unlock(_ transaction: SKPaymentTransaction) {
        recordings += 1
        Task {
            do {
                if case .unlocked(let identifier) = try await vault.record(transaction),
                    let filter = PhotoFilter.named(identifier)
                {
                    onEvent(.unlocked(filter))
                }
                queue.finishTransaction(transaction)
            } catch {
                // Not finished: it comes again.
                leftForLater.insert(transaction.transactionIdentifier ?? "")
                onEvent(.failed("The purchase could not be saved: \(error.localizedDescription)"))
            }
            recordings -= 1
            tellWhenRestored()
        }
    }
}
