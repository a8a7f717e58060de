import Foundation
import StoreWire

// @unchecked: the engine is Sendable, and nothing else is held.
/// The queue of payments between the app and the store.
///
/// The queue writes each payment to the device's journal before it sends the payment to the store, and keeps it until
/// the app finishes the transaction. After a crash at any point, the queue delivers unfinished transactions again as
/// soon as the app adds an observer.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
    private static let shared = SKPaymentQueue()

    private let fixedEngine: StoreKitEngine?

    /// Creates an object for the same queue as ``default()``.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }
    /// The engine, for extensions in other files.
    final var configuredEngine: StoreKitEngine { engine }

    /// The app's queue. StoreKit reads its ``StoreKitConfiguration`` at first use.
    open class func `default`() -> SKPaymentQueue { shared }

    /// Whether this device and its account are allowed to buy. The network may still be unreachable.
    open class func canMakePayments() -> Bool { StoreKitEngine.shared.canMakePayments }

    /// Adds an observer, which the queue does not retain. The observer receives all unfinished transactions. The first
    /// observer also starts the queue's requests to the store. While the app observes, renewals and other transactions
    /// that the store makes arrive by themselves.
    open func add(_ observer: any SKPaymentTransactionObserver) {
        engine.payments.add(observer, queue: self)
        engine.offerConfiguredIntent()
    }

    /// Removes an observer, which receives no further calls.
    open func remove(_ observer: any SKPaymentTransactionObserver) { engine.payments.remove(observer) }

    /// The delegate that decides about a changed storefront and about price consent. The queue does not retain it.
    open weak var delegate: (any SKPaymentQueueDelegate)? {
        get { engine.payments.callbacks.delegate }
        set { engine.payments.callbacks.setDelegate(newValue, queue: self) }
    }

    /// Asks the customer to consent to the price increases that the delegate postponed. Without any, it does nothing.
    open func showPriceConsentIfNeeded() { engine.showPriceConsent() }

    /// Asks the customer for an offer code on the payment sheet. The resulting transaction arrives through
    /// `updatedTransactions`.
    open func presentCodeRedemptionSheet() { engine.redeemCode() }

    /// The registered observers.
    open var transactionObservers: [any SKPaymentTransactionObserver] { engine.payments.observers }

    /// Adds a copy of `payment`. On return the payment is in the journal and survives a crash.
    ///
    /// As in Apple's StoreKit, an empty product identifier or a quantity below 1 is a programmer's error and traps. Any
    /// other invalid payment becomes a failed transaction.
    open func add(_ payment: SKPayment) {
        let values = PaymentValues(of: payment)
        precondition(!values.productIdentifier.isEmpty, "SKPaymentQueue.add: the payment names no product")
        precondition(
            values.quantity > 0,
            "SKPaymentQueue.add: the payment's quantity is \(values.quantity); it must be 1 or more")
        engine.payments.add(values)
    }

    /// Finishes a transaction, once the app has delivered and saved the purchase.
    ///
    /// On return the journal records the finish: the queue does not deliver the transaction again, even when the app
    /// exits at once. The queue then tells the store, after a relaunch if necessary, and calls `removedTransactions`.
    ///
    /// As in Apple's StoreKit, finishing a transaction that is still purchasing is a programmer's error and traps. The
    /// queue ignores a transaction that is deferred or not in the queue. It cancels unfinished downloads, and removes
    /// the content of finished ones at the next launch.
    open func finishTransaction(_ transaction: SKPaymentTransaction) {
        precondition(
            transaction.transactionState != .purchasing,
            "SKPaymentQueue.finishTransaction: cannot finish a transaction in the purchasing state")
        // The store may have completed a deferred purchase that the app still sees as deferred.
        guard let key = transaction.key, transaction.transactionState != .deferred else { return }
        engine.payments.finish(key)
    }

    /// Returns once no request is under way: the store's list has arrived, and purchases, finishes and receipts are
    /// done or wait for a retry. The observers have received all results by then. For the project's own programs.
    package func quiet() async { await engine.payments.quiet() }

    /// Whether the queue has no transactions, and the store knows of every finish. For the project's own programs.
    package var isEmpty: Bool { engine.payments.isEmpty }

    // These members are in the class itself and not in an extension, so that mocks can override them.

    /// Delivers finished purchases again: non-consumables, auto-renewable subscriptions (each period) and free
    /// subscriptions. Use it on a new device, or after the app was installed again.
    ///
    /// Each purchase arrives through `updatedTransactions` as a new transaction in the state `restored`. Its `original`
    /// is the first transaction of the purchase. Finish it like any other transaction. The queue then calls
    /// `paymentQueueRestoreCompletedTransactionsFinished`, even when it restored nothing, or
    /// `restoreCompletedTransactionsFailedWithError`, once for each call of this method.
    ///
    /// The queue refreshes the app receipt before it delivers the first transaction. It asks the customer to sign in
    /// when nobody is signed in; if the customer cancels, the restore fails with ``SKError/Code/paymentCancelled``.
    open func restoreCompletedTransactions() { engine.payments.restore(username: nil) }

    /// Restores the purchases made with exactly this `applicationUsername`; nil restores all.
    open func restoreCompletedTransactions(withApplicationUsername username: String?) {
        engine.payments.restore(username: username)
    }

    /// The transactions in the queue, in the states last reported to observers, oldest first.
    open var transactions: [SKPaymentTransaction] { engine.payments.transactions }

    /// The storefront of the device's account; nil until the store has reported it.
    open var storefront: SKStorefront? { engine.storefront.map(SKStorefront.init) }

    // MARK: Downloads

    // As in Apple's StoreKit, these methods ignore downloads that the app or a test created itself: such a download
    // belongs to no transaction of the queue.

    /// Starts downloads of the queue's transactions. Failed and cancelled downloads start from the beginning, paused
    /// ones where they stopped. Downloads that are under way continue unchanged, so that an app may start a download
    /// that is already waiting. ``StoreKitConfiguration/simultaneousDownloads`` limits how many run at once; the others
    /// follow.
    ///
    /// A started download continues where it stopped after a lost connection, and after the app was killed: as soon as
    /// the app adds an observer. If the app starts a download again that finished before a relaunch, the queue reports
    /// it as finished once more.
    open func start(_ downloads: [SKDownload]) { engine.downloads?.start(downloads.compactMap(\.id)) }

    /// Pauses started downloads and keeps the bytes received so far. It ignores other downloads.
    open func pause(_ downloads: [SKDownload]) { engine.downloads?.pause(downloads.compactMap(\.id)) }

    /// Continues paused downloads where they stopped. It ignores other downloads.
    open func resume(_ downloads: [SKDownload]) { engine.downloads?.resume(downloads.compactMap(\.id)) }

    /// Cancels unfinished downloads and removes the bytes received so far. It ignores other downloads.
    open func cancel(_ downloads: [SKDownload]) { engine.downloads?.cancel(downloads.compactMap(\.id)) }
}
