import PurchaseVault
import StoreKit

/// The shop of the app, written as for Apple's StoreKit. StoreKit calls it on the main queue, and so does the app.
@MainActor
public final class MonkeyStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver
{
    /// What the player should hear of.
    public enum Event: Sendable, Equatable {
        /// The price list came, or could not be had.
        case pricesChanged
        /// Credits were bought and are in the balance.
        case credited(Int)
        /// A purchase failed for another reason than the player's own no.
        case purchaseFailed(String)
        /// The player said no, which needs no words.
        case purchaseCancelled
        /// Waits for somebody's approval.
        case purchaseDeferred
        /// Something in the queue came or went.
        case queueChanged
    }

    /// The buttons' prices.
    public enum Prices {
        case loading
        case loaded([SKProduct])
        case networkDown
    }

    public private(set) var prices = Prices.loading
    private let queue: SKPaymentQueue
    private let vault: PurchaseVault
    private let onEvent: (Event) -> Void
    private var request: SKProductsRequest?
    /// Payments that were added and are not in the queue's list yet: adding is asynchronous.
    private var ordersNotSeen = 0
    /// Transactions whose credits could not be saved. They stay in the queue and come again at the next launch.
    private var leftForLater: Set<String> = []

    /// Called before a purchased transaction is granted; the demonstration of a crash uses it.
    public var beforeGrant: (() -> Void)?

    public init(queue: SKPaymentQueue, vault: PurchaseVault, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.vault = vault
        self.onEvent = onEvent
    }

    /// Begins to listen, as early as the app can: unfinished purchases of earlier launches come right away.
    public func open(productsRequest: SKProductsRequest? = nil) {
        queue.add(self)
        let request =
            productsRequest ?? SKProductsRequest(productIdentifiers: Set(CreditPack.all.map(\.productIdentifier)))
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
        ordersNotSeen > 0
            || queue.transactions.contains {
                $0.transactionState != .deferred && !leftForLater.contains($0.transactionIdentifier ?? "")
            }
    }

    // MARK: Prices

    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        prices = .loaded(response.products)
    }

    public func requestDidFinish(_ request: SKRequest) {
        onEvent(.pricesChanged)
    }

    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        prices = .networkDown
        onEvent(.pricesChanged)
    }

    public func product(of pack: CreditPack) -> SKProduct? {
        guard case .loaded(let products) = prices else { return nil }
        return products.first { $0.productIdentifier == pack.productIdentifier }
    }

    /// What stands on a pack's button.
    public func button(for pack: CreditPack, canMakePayments: Bool) -> String {
        guard canMakePayments else { return "AppStore disabled" }
        switch prices {
        case .loading: return "Buy \(pack.credits) credits  …"
        case .networkDown: return "Network down?"
        case .loaded:
            guard let product = product(of: pack) else { return "Not for sale" }
            let formatter = NumberFormatter()
            formatter.numberStyle = .currency
            formatter.locale = product.priceLocale
            return "Buy \(pack.credits) credits  \(formatter.string(from: product.price) ?? "\(product.price)")"
        }
    }

    // MARK: Buying

    public func buy(_ product: SKProduct, quantity: Int) {
        let payment = SKMutablePayment(product: product)
        payment.quantity = quantity
        ordersNotSeen += 1
        queue.add(payment)
    }

    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                grant(transaction)
            case .failed:
                if let error = transaction.error as? SKError, error.code == .paymentCancelled {
                    onEvent(.purchaseCancelled)
                } else {
                    onEvent(.purchaseFailed(transaction.error?.localizedDescription ?? "The purchase failed."))
                }
                queue.finishTransaction(transaction)
            case .deferred:
                onEvent(.purchaseDeferred)
            }
        }
        onEvent(.queueChanged)
    }

    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        onEvent(.queueChanged)
    }

    /// First the credits, in the vault and on the disk; then the finish. The other way round, a crash in between would
    /// lose what was paid for. The vault counts each transaction once, however often it comes.
    private func grant(_ transaction: SKPaymentTransaction) {
        beforeGrant?()
        Task {
            do {
                if case .credited(let credits, _) = try await vault.record(transaction) { onEvent(.credited(credits)) }
                queue.finishTransaction(transaction)
            } catch {
                // Not finished: it comes again, and so do the credits.
                leftForLater.insert(transaction.transactionIdentifier ?? "")
                onEvent(.purchaseFailed("The credits could not be saved: \(error.localizedDescription)"))
            }
        }
    }
}
