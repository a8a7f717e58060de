import PurchaseVault
import StoreKit

/// The app's shop, which uses Apple's StoreKit API. StoreKit and the app call it on the main queue.
///
/// Each sample has a complete observer of its own, although parts are alike, so that it can be read without the others.
@MainActor
public final class MonkeyStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver,
    @MainActor SKPaymentQueueDelegate
{
    /// An event for the user interface.
    public enum Event: Sendable, Equatable {
        /// The price list was loaded, or the request failed.
        case pricesChanged
        /// Bought credits were added to the balance.
        case credited(Int)
        /// A purchase failed for a reason other than cancellation.
        case purchaseFailed(String)
        /// The player cancelled. The app shows no message.
        case purchaseCancelled
        /// The purchase waits for approval.
        case purchaseDeferred
        /// The player chose this pack in the store, and the game buys it.
        case promoted(CreditPack)
        /// A purchase continues in another country's storefront.
        case continued(country: String)
        /// The payment queue changed.
        case queueChanged
    }

    /// The state of the price list.
    public enum Prices {
        /// The request is running.
        case loading
        /// The products with their prices.
        case loaded([SKProduct])
        /// The request failed.
        case networkDown
    }

    /// The price list.
    public private(set) var prices = Prices.loading
    private let queue: SKPaymentQueue
    private let vault: PurchaseVault
    private let player: Player
    private let onEvent: (Event) -> Void
    private var priceRequest: SKProductsRequest?
    /// The number of failed price requests since the last success.
    private var priceFailures = 0
    /// The number of price requests. A delayed retry is dropped when another request was made meanwhile.
    private var priceTurn = 0
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    /// The products that the player chose in the store, until the current purchase has ended.
    private var promoted: [SKProduct] = []
    private var receiptRequest: SKReceiptRefreshRequest?
    /// The transactions that wait for a refreshed receipt.
    private var unproven: [SKPaymentTransaction] = []
    /// The ids of all transactions for which the receipt was refreshed.
    private var refreshedFor: Set<String> = []
    /// The transactions whose credits could not be saved. They stay in the queue until the next launch.
    private var leftForLater: Set<String> = []

    /// Called before a purchased transaction is granted. The demo uses it to simulate a crash.
    public var beforeGrant: (() -> Void)?
    /// Creates the price request. Tests replace it to use their own device.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }
    /// Creates the receipt request. Tests replace it to use their own device.
    public var makeReceiptRequest: () -> SKReceiptRefreshRequest = { SKReceiptRefreshRequest() }
    /// Runs `body` after a number of seconds. Tests replace it to control the time.
    public var after: (_ seconds: Double, _ body: @escaping @MainActor () -> Void) -> Void = { seconds, body in
        Task { @MainActor in
            try? await Task.sleep(for: .seconds(seconds))
            body()
        }
    }

    /// Creates a shop.
    public init(
        queue: SKPaymentQueue, vault: PurchaseVault, player: Player, onEvent: @escaping (Event) -> Void
    ) {
        self.queue = queue
        self.vault = vault
        self.player = player
        self.onEvent = onEvent
    }

    /// Starts to observe the queue and loads the prices. Call it early at launch, because StoreKit delivers unfinished
    /// purchases at once. It sets the delegate first, because the queue may ask the delegate about one of them.
    public func open() {
        queue.delegate = self
        queue.add(self)
        loadPrices()
    }

    /// Stops to observe the queue.
    public func close() {
        priceTurn += 1
        priceRequest?.cancel()
        receiptRequest?.cancel()
        queue.remove(self)
        queue.delegate = nil
    }

    /// Whether a purchase is in progress. Deferred purchases do not count, because they may wait for days.
    public var isBusy: Bool {
        ordersNotSeen > 0 || !promoted.isEmpty
            || queue.transactions.contains {
                $0.transactionState != .deferred && !leftForLater.contains($0.transactionIdentifier ?? "")
            }
    }

    // MARK: Prices

    private func loadPrices() {
        priceTurn += 1
        priceRequest?.cancel()
        let request = makePriceRequest(Set(CreditPack.all.map(\.productIdentifier)))
        request.delegate = self
        // StoreKit does not retain a request, so the app does.
        priceRequest = request
        request.start()
    }

    /// Stores the loaded products.
    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        prices = .loaded(response.products)
    }

    /// Reports the loaded prices, or grants the transactions that waited for the receipt.
    public func requestDidFinish(_ request: SKRequest) {
        if request === receiptRequest { return recordUnproven() }
        priceRequest = nil
        priceFailures = 0
        onEvent(.pricesChanged)
    }

    /// Schedules another price request, or grants the transactions that waited for the receipt.
    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        if request === receiptRequest { return recordUnproven() }
        let isNews = !isNetworkDown
        priceRequest = nil
        priceFailures += 1
        prices = .networkDown
        askAgainLater()
        // Report the failure once, not after each attempt.
        if isNews { onEvent(.pricesChanged) }
    }

    private var isNetworkDown: Bool {
        if case .networkDown = prices { true } else { false }
    }

    /// Loads the prices again after 2, 4, 8 … seconds, at most a minute. StoreKit has no notification for the store's
    /// availability.
    private func askAgainLater() {
        let turn = priceTurn
        after(min(60, pow(2, Double(min(priceFailures, 6))))) { [weak self] in
            guard let self, self.priceTurn == turn else { return }
            self.loadPrices()
        }
    }

    /// Loads the prices when the queue received something from the store after a failed request.
    private func storeWasHeard() {
        if isNetworkDown, priceRequest == nil { loadPrices() }
    }

    /// Returns a pack's product; nil when the store does not sell it or the prices are not loaded.
    public func product(of pack: CreditPack) -> SKProduct? {
        guard case .loaded(let products) = prices else { return nil }
        return products.first { $0.productIdentifier == pack.productIdentifier }
    }

    /// Returns the label of a pack's button.
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

    /// Adds a payment for the player. The payment's `applicationUsername` is the player's opaque identifier. The store
    /// writes it into the receipt, so that the game can assign the purchase to the player and detect many accounts that
    /// buy for one player.
    public func buy(_ product: SKProduct, quantity: Int) {
        let payment = SKMutablePayment(product: product)
        payment.quantity = quantity
        payment.applicationUsername = player.identifier.uuidString
        ordersNotSeen += 1
        queue.add(payment)
    }

    /// Handles the transactions' new states.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                storeWasHeard()
                beforeGrant?()
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
        buyPromoted()
        onEvent(.queueChanged)
    }

    /// Updates the state after transactions left the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        storeWasHeard()
        buyPromoted()
        onEvent(.queueChanged)
    }

    /// Records the credits in the vault, which writes them to disk, and then finishes the transaction. With the
    /// opposite order, a crash in between would lose the credits. The vault counts each transaction once.
    private func grant(_ transaction: SKPaymentTransaction) {
        Task {
            do throws(VaultError) {
                if case .credited(let credits, _) = try await vault.record(transaction) { onEvent(.credited(credits)) }
                queue.finishTransaction(transaction)
            } catch {
                if [.noEvidence, .evidenceRefused].contains(error.code), waitsForReceipt(transaction) { return }
                // Do not finish the transaction, so that StoreKit delivers it again at the next launch.
                leftForLater.insert(transaction.transactionIdentifier ?? "")
                onEvent(.purchaseFailed("The credits could not be saved: \(error.localizedDescription)"))
            }
        }
    }

    // MARK: The receipt

    /// Refreshes the receipt when the one on this device is missing, damaged or from another device, for example after
    /// a backup was restored. The app has no button to restore credits, because consumables cannot be restored.
    ///
    /// - Returns: false when the receipt was already refreshed for this transaction.
    private func waitsForReceipt(_ transaction: SKPaymentTransaction) -> Bool {
        guard refreshedFor.insert(transaction.transactionIdentifier ?? "").inserted else { return false }
        unproven.append(transaction)
        guard receiptRequest == nil else { return true }
        let request = makeReceiptRequest()
        request.delegate = self
        receiptRequest = request
        request.start()
        return true
    }

    /// Grants the waiting transactions again after the receipt request ended. If it failed, granting fails again.
    private func recordUnproven() {
        receiptRequest = nil
        let transactions = unproven
        unproven = []
        transactions.forEach(grant)
    }

    // MARK: Promoted purchases

    /// Handles a pack that the player tapped in the store. Returning true would let the queue add the store's payment.
    /// The game returns false and adds its own payment, which contains the player's identifier, once no other purchase
    /// is in progress.
    public func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        guard let pack = CreditPack.named(product.productIdentifier) else { return false }
        promoted.append(product)
        onEvent(.promoted(pack))
        buyPromoted()
        return false
    }

    private func buyPromoted() {
        guard ordersNotSeen == 0, !queue.transactions.contains(where: { $0.transactionState == .purchasing }),
            !promoted.isEmpty
        else { return }
        buy(promoted.removeFirst(), quantity: 1)
    }

    // MARK: Another country's store

    /// Continues a purchase when the account's storefront changed after the payment was added, for example after
    /// signing in. The payment sheet shows the new storefront's price before the player pays. (Returning false fails
    /// the transaction.)
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool {
        onEvent(.continued(country: newStorefront.countryCode))
        return true
    }

    /// Loads the prices of the new storefront.
    public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { loadPrices() }
}
