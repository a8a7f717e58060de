import MerchantClient
import StoreKit

/// The shop of the app. The merchant, which is the app's own server, says what is on the shelf and delivers it; the store
/// says what it costs and takes the money. StoreKit calls it on the main queue, and so does the app.
///
/// An issue's way: the payment is added, under the name by which the merchant knows the user; the transaction comes as
/// purchased; the merchant client shows its receipt to the merchant, downloads the issue, and finishes the transaction.
/// Whatever happens in between, a crash too, StoreKit tells the transaction again, and the client goes on where it was.
@MainActor
public final class BookStand: NSObject, @MainActor SKPaymentTransactionObserver {
    /// What the reader should hear of. What the merchant does comes as ``MerchantClient/MerchantEvent`` beside it.
    public enum Event: Sendable, Equatable {
        /// The shelf is filled, or could not be.
        case shelfChanged
        /// StoreKit says that something is paid for. The merchant hears of it next.
        case purchased
        /// A purchase, a download or the restoring failed.
        case failed(String)
        /// The reader said no, which needs no words.
        case cancelled
        /// Waits for somebody's approval.
        case deferred
        /// All that was bought before has been asked for.
        case restored
        /// Something in the queue came or went.
        case queueChanged
    }

    /// What is on sale; empty until the merchant was asked once.
    public private(set) var issues: [Issue] = []
    /// Why the shelf may not be the newest; nil when it is.
    public private(set) var problem: String?
    /// How prices are asked for.
    public let shelf = MerchantOfferLoader()
    public let merchant: MerchantClient
    private let queue: SKPaymentQueue
    private let onEvent: (Event) -> Void
    /// Questions to the merchant that run.
    private var asking = 0
    /// Payments that were added and are not in the queue's list yet: adding is asynchronous.
    private var ordersNotSeen = 0
    private var isRestoring = false
    /// Transactions that were finished, until they have left the queue.
    private var finishing: Set<String> = []

    public init(queue: SKPaymentQueue, merchant: MerchantClient, onEvent: @escaping (Event) -> Void) {
        self.queue = queue
        self.merchant = merchant
        self.onEvent = onEvent
    }

    /// Begins to listen, as early as the app can: unfinished purchases of earlier launches come right away, and so does what
    /// the merchant still has to deliver.
    public func open() {
        issues = merchant.cachedProducts.compactMap { Issue($0) }
        ask { [merchant] in await merchant.open() }
        queue.add(self)
        fillShelf()
    }

    public func close() async {
        queue.remove(self)
        await merchant.close()
    }

    /// Whether something is under way. What waits for the merchant's next answer, or for approval, may wait for days.
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

    /// Asks the merchant what there is, and the store what it costs. An issue that was not there when the app was built is a
    /// product as any other.
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

    public func issue(named name: String) -> Issue? { issues.first { $0.name == name } }

    /// The issue on this device; nil when it is not here.
    public func content(of issue: Issue) -> MerchantContent? { merchant.newestContent(of: issue.item) }

    /// What stands beside an issue.
    public func label(of issue: Issue) -> String {
        if let content = content(of: issue) { return "yours, version \(content.version)" }
        if let begun = merchant.begunDownload(of: issue.item) {
            return "yours, \(Int(begun.progress * 100)) % here"
        }
        return issue.price ?? "Network down?"
    }

    // MARK: Buying

    /// Whether an issue is being paid for, or was, and is not delivered: it comes without being bought again.
    public func isOnItsWay(_ issue: Issue) -> Bool {
        queue.transactions.contains {
            $0.payment.productIdentifier == issue.productIdentifier && $0.transactionState != .failed
        }
    }

    /// Buys an issue, if the merchant can be reached: it is who delivers. What its books say is the user's, from another device or
    /// an earlier launch, it delivers without a purchase. `applicationUsername` says for whom the purchase is, so that it reaches
    /// its owner even when somebody else is signed in by the time it is redeemed.
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

    /// Asks the store for what its account bought before. What comes is redeemed as if it were bought now, which gives
    /// nothing twice.
    public func restore() {
        isRestoring = true
        queue.restoreCompletedTransactions()
    }

    /// Gets the newest version of all that the user is entitled to, on whatever device it was bought: the merchant's books
    /// know.
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

    /// What the merchant client tells, on the main thread like everything else here.
    public func heard(_ event: MerchantEvent) {
        // It leaves the queue when StoreKit has written that down.
        guard case .finished(let purchase) = event,
            queue.transactions.contains(where: { $0.transactionIdentifier == purchase.transactionID })
        else { return }
        finishing.insert(purchase.transactionID)
        giveUpWaiting(for: purchase.transactionID)
    }

    /// A store that is down may be down for hours. StoreKit has written the finish down, and tells the store at a later launch.
    private func giveUpWaiting(for transaction: String) {
        Task {
            try? await Task.sleep(for: .seconds(5))
            if finishing.remove(transaction) != nil { onEvent(.queueChanged) }
        }
    }

    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        finishing.subtract(transactions.map { $0.transactionIdentifier ?? "" })
        onEvent(.queueChanged)
    }

    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        isRestoring = false
        onEvent(.restored)
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

    private func ask(_ question: @escaping @MainActor () async -> Void) {
        asking += 1
        Task {
            await question()
            asking -= 1
            onEvent(.queueChanged)
        }
    }
}
