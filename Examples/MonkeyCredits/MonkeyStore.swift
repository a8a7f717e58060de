import PurchaseVault
import StoreKit

/// The shop of the app, written as for Apple's StoreKit. StoreKit calls it on the main queue, and so does the app.
@MainActor
public final class MonkeyStore: NSObject, @MainActor SKProductsRequestDelegate, @MainActor SKPaymentTransactionObserver,
    @MainActor SKPaymentQueueDelegate
{
    /// What the player should hear of.
    public enum Event: Sendable, Equatable {
        /// The price list came, or can no longer be had.
        case pricesChanged
        /// Credits were bought and are in the balance.
        case credited(Int)
        /// A purchase failed for another reason than the player's own no.
        case purchaseFailed(String)
        /// The player said no, which needs no words.
        case purchaseCancelled
        /// Waits for somebody's approval.
        case purchaseDeferred
        /// The player chose this in the store itself, and the game buys it.
        case promoted(CreditPack)
        /// A purchase goes on in another country's store.
        case continued(country: String)
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
    private let player: Player
    private let onEvent: (Event) -> Void
    private var priceRequest: SKProductsRequest?
    /// Price requests that failed since the last one that did not.
    private var priceFailures = 0
    /// Counts the price requests. A pause before another request means nothing once a request was made meanwhile.
    private var priceTurn = 0
    /// Payments that were added and are not in the queue's list yet: adding is asynchronous.
    private var ordersNotSeen = 0
    /// What the player chose in the store, until a purchase that is under way has ended.
    private var promoted: [SKProduct] = []
    private var receiptRequest: SKReceiptRefreshRequest?
    /// Transactions that wait for a fresh receipt, and all for which one was asked.
    private var unproven: [SKPaymentTransaction] = []
    private var refreshedFor: Set<String> = []
    /// Transactions whose credits could not be saved. They stay in the queue and come again at the next launch.
    private var leftForLater: Set<String> = []

    /// Called before a purchased transaction is granted; the demonstration of a crash uses it.
    public var beforeGrant: (() -> Void)?
    /// How requests are made. Tests make theirs for a device of their own.
    public var makePriceRequest: (Set<String>) -> SKProductsRequest = { SKProductsRequest(productIdentifiers: $0) }
    public var makeReceiptRequest: () -> SKReceiptRefreshRequest = { SKReceiptRefreshRequest() }
    /// Does something after so many seconds. Tests do it when they like.
    public var after: (_ seconds: Double, _ body: @escaping @MainActor () -> Void) -> Void = { seconds, body in
        Task { @MainActor in
            try? await Task.sleep(for: .seconds(seconds))
            body()
        }
    }

    public init(
        queue: SKPaymentQueue, vault: PurchaseVault, player: Player, onEvent: @escaping (Event) -> Void
    ) {
        self.queue = queue
        self.vault = vault
        self.player = player
        self.onEvent = onEvent
    }

    /// Begins to listen, as early as the app can: unfinished purchases of earlier launches come right away. The delegate
    /// is there first, because the queue may have to ask it about one of them.
    public func open() {
        queue.delegate = self
        queue.add(self)
        loadPrices()
    }

    public func close() {
        priceTurn += 1
        priceRequest?.cancel()
        receiptRequest?.cancel()
        queue.remove(self)
        queue.delegate = nil
    }

    /// Whether something is under way. What waits for approval may wait for days.
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
        // StoreKit does not keep a request, so the app has to.
        priceRequest = request
        request.start()
    }

    public func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse) {
        prices = .loaded(response.products)
    }

    public func requestDidFinish(_ request: SKRequest) {
        if request === receiptRequest { return recordUnproven() }
        priceRequest = nil
        priceFailures = 0
        onEvent(.pricesChanged)
    }

    public func request(_ request: SKRequest, didFailWithError error: any Error) {
        if request === receiptRequest { return recordUnproven() }
        let isNews = !isNetworkDown
        priceRequest = nil
        priceFailures += 1
        prices = .networkDown
        askAgainLater()
        // The player is told once, and not at each attempt.
        if isNews { onEvent(.pricesChanged) }
    }

    private var isNetworkDown: Bool {
        if case .networkDown = prices { true } else { false }
    }

    /// Asks for the prices again after 2, 4, 8 … seconds, at most a minute: StoreKit tells nobody when the store can be
    /// reached again.
    private func askAgainLater() {
        let turn = priceTurn
        after(min(60, pow(2, Double(min(priceFailures, 6))))) { [weak self] in
            guard let self, self.priceTurn == turn else { return }
            self.loadPrices()
        }
    }

    /// The queue has heard from the store, so that the prices can be had, too.
    private func storeWasHeard() {
        if isNetworkDown, priceRequest == nil { loadPrices() }
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

    /// Buys for the player. The store learns the player's name in the game, which means nothing to it, and writes it into
    /// the receipt: whose purchase it was can be told later, and many accounts that buy for one player stand out.
    public func buy(_ product: SKProduct, quantity: Int) {
        let payment = SKMutablePayment(product: product)
        payment.quantity = quantity
        payment.applicationUsername = player.identifier.uuidString
        ordersNotSeen += 1
        queue.add(payment)
    }

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

    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        storeWasHeard()
        buyPromoted()
        onEvent(.queueChanged)
    }

    /// First the credits, in the vault and on the disk; then the finish. The other way round, a crash in between would
    /// lose what was paid for. The vault counts each transaction once, however often it comes.
    private func grant(_ transaction: SKPaymentTransaction) {
        Task {
            do throws(VaultError) {
                if case .credited(let credits, _) = try await vault.record(transaction) { onEvent(.credited(credits)) }
                queue.finishTransaction(transaction)
            } catch {
                if [.noEvidence, .evidenceRefused].contains(error.code), waitsForReceipt(transaction) { return }
                // Not finished: it comes again, and so do the credits.
                leftForLater.insert(transaction.transactionIdentifier ?? "")
                onEvent(.purchaseFailed("The credits could not be saved: \(error.localizedDescription)"))
            }
        }
    }

    // MARK: The receipt

    /// Asks the store for a fresh receipt when the one on this device is gone, damaged or another device's, as after a
    /// backup, and proves nothing. There is no button to restore credits: what is used up cannot be restored.
    ///
    /// - Returns: false when that was tried for the transaction before.
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

    /// The receipt is fresh, or could not be had, which trying again tells.
    private func recordUnproven() {
        receiptRequest = nil
        let transactions = unproven
        unproven = []
        transactions.forEach(grant)
    }

    // MARK: Promoted purchases

    /// The player tapped one of the packs in the store, outside the game, and was brought here. True would let the queue
    /// add the payment as it is; the game says false and adds its own, which names the player, once nothing else is being
    /// bought.
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

    /// The account turned out to shop in another country than when the payment was added, as after signing in. The payment
    /// sheet shows that store's price before anybody pays, so the game goes on. (False would fail the transaction.)
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool {
        onEvent(.continued(country: newStorefront.countryCode))
        return true
    }

    /// The buttons show prices that are no longer asked.
    public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) { loadPrices() }
}
