import PurchaseVault
import StoreKit

/// The app's shop, which uses Apple's StoreKit API. StoreKit and the app call it on the main queue.
///
/// Each sample has a complete observer of its own, although parts are alike, so that it can be read without the others.
@MainActor
public final class PhotoStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver {
    /// An event for the user interface.
    public enum Event: Sendable, Equatable {
        /// The price list was loaded, or the request failed.
        case pricesChanged
        /// A filter was unlocked.
        case unlocked(PhotoFilter)
        /// A filter was refunded and is locked again.
        case revoked(PhotoFilter)
        /// A purchase or a restore failed.
        case failed(String)
        /// The customer cancelled. The app shows no message.
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
    private let queue: SKPaymentQueue
    private let vault: PurchaseVault
    private let onEvent: (Event) -> Void
    private var request: SKProductsRequest?
    /// Whether the prices could not be loaded.
    private var isNetworkDown = false
    private var isOpen = false
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    /// Whether a restore is in progress. It ends when the vault has recorded the last transaction.
    private var isRestoring = false
    private var hasRestored = false
    private var isReadingReceipt = false
    /// The number of transactions that the vault is recording.
    private var recordings = 0
    /// The transactions that could not be recorded. They stay in the queue until the next launch.
    private var leftForLater: Set<String> = []

    /// Creates the price request. Tests replace it to use their own device.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }

    /// Creates a shop.
    public init(queue: SKPaymentQueue, vault: PurchaseVault, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.vault = vault
        self.onEvent = onEvent
    }

    /// Starts to observe the queue and loads the prices. Call it early at launch, because StoreKit delivers unfinished
    /// purchases at once.
    public func open() {
        isOpen = true
        queue.add(self)
        loadPrices()
    }

    /// Stops to observe the queue.
    public func close() {
        isOpen = false
        request?.cancel()
        queue.remove(self)
    }

    /// Whether a purchase or restore is in progress. Deferred purchases do not count, because they may wait for days.
    public var isBusy: Bool {
        ordersNotSeen > 0 || isRestoring || isReadingReceipt
            || queue.transactions.contains {
                $0.transactionState != .deferred && !leftForLater.contains($0.transactionIdentifier ?? "")
            }
    }

    // MARK: Prices

    private func loadPrices() {
        let request = makePriceRequest(Set(PhotoFilter.allCases.map(\.productIdentifier)))
        request.delegate = self
        // StoreKit does not retain a request, so the app does.
        self.request = request
        request.start()
    }

    /// Stores the loaded products.
    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        products = response.products
    }

    /// Reports the loaded prices.
    public func requestDidFinish(_ request: SKRequest) { onEvent(.pricesChanged) }

    /// Reports once that the prices could not be loaded, and loads them again after a few seconds. StoreKit has no
    /// notification for the store's availability.
    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        if !isNetworkDown {
            isNetworkDown = true
            onEvent(.pricesChanged)
        }
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(3))
            if let self, self.isOpen { self.loadPrices() }
        }
    }

    /// Returns a filter's product; nil when the store does not sell it or the prices are not loaded.
    public func product(of filter: PhotoFilter) -> SKProduct? {
        products?.first { $0.productIdentifier == filter.productIdentifier }
    }

    /// Returns the label of a filter: whether it is bought, its price, or the reason why it has no price.
    public func label(of filter: PhotoFilter) -> String {
        if vault.isUnlocked(filter.productIdentifier) { return "yours" }
        guard let product = product(of: filter) else { return withoutProduct }
        let formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = product.priceLocale
        return formatter.string(from: product.price) ?? "\(product.price)"
    }

    /// The reason why a price is missing.
    private var withoutProduct: String {
        if products != nil { return "Not for sale" }
        return isNetworkDown ? "Network down?" : "…"
    }

    // MARK: Buying and restoring

    /// Adds a payment for a product.
    public func buy(_ product: SKProduct) {
        ordersNotSeen += 1
        queue.add(SKPayment(product: product))
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

    /// Reports that transactions left the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        onEvent(.queueChanged)
    }

    /// Completes a restore once the vault has recorded its transactions.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        hasRestored = true
        tellWhenRestored()
    }

    /// Reports the restore once the vault has recorded all transactions. A restore does not deliver refunded purchases,
    /// so the vault also reads the refreshed receipt, which contains the refunds.
    private func tellWhenRestored() {
        guard hasRestored, recordings == 0 else { return }
        hasRestored = false
        Task {
            await readReceipt()
            isRestoring = false
            onEvent(.restored)
        }
    }

    /// Revokes refunded filters. The refreshed receipt proves the refunds, so the vault reads the receipt and ignores
    /// the product identifiers. (A filter that was bought twice and refunded once stays unlocked.)
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

    /// Updates the vault from this device's receipt.
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

    /// Records the transaction in the vault, which writes it to disk, and then finishes it. With the opposite order, a
    /// crash in between would lose the purchase.
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
                // Do not finish the transaction, so that StoreKit delivers it again at the next launch.
                leftForLater.insert(transaction.transactionIdentifier ?? "")
                onEvent(.failed("The purchase could not be saved: \(error.localizedDescription)"))
            }
            recordings -= 1
            tellWhenRestored()
        }
    }
}
