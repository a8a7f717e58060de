import MerchantClient
import StoreKit

/// The app's shop. The merchant, the app's own server, lists and delivers the issues. The store provides the prices and
/// processes the payments. StoreKit and the app call it on the main queue.
///
/// The app adds a payment with the user's account token. StoreKit delivers a purchased transaction. The merchant client
/// sends the receipt to the merchant, downloads the issue, and finishes the transaction. After a crash at any point,
/// StoreKit delivers the transaction again, and the client continues.
///
/// Each sample has a complete observer of its own, although parts are alike, so that it can be read without the others.
@MainActor
public final class BookStand: NSObject, @MainActor SKPaymentTransactionObserver {
    /// An event for the user interface. The merchant client reports its own events (``MerchantClient/MerchantEvent``).
    public enum Event: Sendable, Equatable {
        /// The list of issues was loaded, or the request failed.
        case shelfChanged
        /// StoreKit delivered a purchase. The merchant redeems it next.
        case purchased
        /// A purchase, a download or a restore failed.
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

    /// The issues on sale; empty until the merchant answered once.
    public private(set) var issues: [Issue] = []
    /// The reason why the list of issues may be outdated; nil when it is current.
    public private(set) var problem: String?
    /// Loads the prices.
    public let shelf = MerchantOfferLoader()
    /// The client of the app's own server.
    public let merchant: MerchantClient
    private let queue: SKPaymentQueue
    private let onEvent: (Event) -> Void
    /// The number of running requests to the merchant.
    private var asking = 0
    /// The number of added payments that are not in the queue's list yet, because adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    /// The ids of finished transactions that are still in the queue.
    private var finishing: Set<String> = []

    /// Creates a shop.
    public init(queue: SKPaymentQueue, merchant: MerchantClient, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.merchant = merchant
        self.onEvent = onEvent
    }

    /// Starts to observe the queue and loads the issues. Call it early at launch, because StoreKit delivers unfinished
    /// purchases at once, and the merchant client resumes its deliveries.
    public func open() {
        issues = merchant.cachedProducts.compactMap { Issue($0) }
        ask { [merchant] in await merchant.open() }
        queue.add(self)
        fillShelf()
    }

    /// Stops to observe the queue and closes the merchant client.
    public func close() async {
        queue.remove(self)
        await merchant.close()
    }

    /// Whether a purchase, restore or download is in progress. Purchases that wait for the merchant or for approval do
    /// not count, because they may wait for days.
    public var isBusy: Bool {
        get async {
            if asking > 0 || ordersNotSeen > 0 || isRestoring || !finishing.isEmpty { return true }
            if queue.transactions.contains(where: { [.purchasing, .failed].contains($0.transactionState) }) {
                return true
            }
            return await merchant.isBusy
        }
    }

    // MARK: The shelf

    /// Loads the list of issues from the merchant and the prices from the store. New issues need no update of the app.
    public func fillShelf() {
        ask { [self] in
            do {
                let list = try await merchant.products()
                problem = list.problem?.localizedDescription
                issues = await shelf.offers(for: list.products).compactMap { Issue($0) }
            } catch {
                problem = error.localizedDescription
            }
            onEvent(.shelfChanged)
        }
    }

    /// Returns the issue with a name, such as `issue1`.
    public func issue(named name: String) -> Issue? { issues.first { $0.name == name } }

    /// Returns the issue's content on this device; nil when it is not downloaded.
    public func content(of issue: Issue) -> MerchantContent? { merchant.newestContent(of: issue.item) }

    /// Returns the label of an issue: its installed version, the download's progress, that it is paid, or its price.
    public func label(of issue: Issue) -> String {
        if let content = content(of: issue) { return "yours, version \(content.version)" }
        if let begun = merchant.begunDownload(of: issue.item) {
            return "yours, \(Int(begun.progress * 100)) % here"
        }
        let isPaid = queue.transactions.contains {
            $0.payment.productIdentifier == issue.productIdentifier
                && [.purchased, .restored].contains($0.transactionState)
        }
        return isPaid ? "paid, on its way" : issue.price ?? "Network down?"
    }

    // MARK: Buying

    /// Whether the issue's purchase is in progress or not delivered yet, so that it must not be bought again.
    public func isOnItsWay(_ issue: Issue) -> Bool {
        queue.transactions.contains {
            $0.payment.productIdentifier == issue.productIdentifier && $0.transactionState != .failed
        }
    }

    /// Buys an issue if the merchant answers, because the merchant delivers it. If the user is already entitled to the
    /// issue, the merchant delivers it without a purchase. The payment's `applicationUsername` is the user's account
    /// token, so that the purchase belongs to this user even if another user is signed in when it is redeemed.
    public func buy(_ issue: Issue) {
        guard let product = issue.product else { return onEvent(.failed("The store does not sell \(issue.title).")) }
        ask { [self] in
            do {
                let account = try await merchant.account()
                let owned = try await merchant.entitlements().entitlements
                guard !owned.contains(where: { $0.content == issue.item && $0.isUsable }) else {
                    try await merchant.download(issue.item)
                    return
                }
                let payment = SKMutablePayment(product: product)
                payment.applicationUsername = account.accountToken
                ordersNotSeen += 1
                queue.add(payment)
            } catch {
                onEvent(.failed(error.localizedDescription))
            }
        }
    }

    /// Restores the store account's purchases. The merchant redeems restored transactions like purchased ones, and
    /// grants each purchase only once.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    /// Downloads the newest version of every issue that the user is entitled to at the merchant, from any device.
    public func update() {
        ask { [self] in
            do {
                for entitlement in try await merchant.entitlements().entitlements where entitlement.isUsable {
                    if let item = entitlement.content { try await merchant.download(item) }
                }
            } catch {
                onEvent(.failed(error.localizedDescription))
            }
        }
    }

    /// Handles the transactions' new states.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        for transaction in transactions {
            switch transaction.transactionState {
            case .purchasing:
                ordersNotSeen = max(0, ordersNotSeen - 1)
            case .purchased, .restored:
                onEvent(.purchased)
                merchant.redeem(transaction, from: queue)
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

    /// Handles an event of the merchant client. Call it on the main thread.
    public func heard(_ event: MerchantEvent) {
        // A finished transaction leaves the queue when StoreKit has written the finish to its journal.
        guard case .finished(let purchase) = event,
            queue.transactions.contains(where: { $0.transactionIdentifier == purchase.transactionID })
        else { return }
        finishing.insert(purchase.transactionID)
        giveUpWaiting(for: purchase.transactionID)
    }

    /// Stops waiting for a finished transaction after five seconds, because the store may be unavailable for hours.
    /// StoreKit's journal contains the finish, and StoreKit sends it to the store at a later launch.
    private func giveUpWaiting(for transaction: String) {
        Task {
            try? await Task.sleep(for: .seconds(5))
            if finishing.remove(transaction) != nil { onEvent(.queueChanged) }
        }
    }

    /// Updates the state after transactions left the queue.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        finishing.subtract(transactions.map { $0.transactionIdentifier ?? "" })
        onEvent(.queueChanged)
    }

    /// Reports a complete restore.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        isRestoring = false
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

    private func ask(_ question: @escaping @MainActor () async -> Void) {
        asking += 1
        Task {
            await question()
            asking -= 1
            onEvent(.queueChanged)
        }
    }
}
