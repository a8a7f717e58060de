import Foundation
import StoreWire

/// The queue of payments between the app and the store.
///
/// What is added is written to the device's journal before the store hears of it, and stays until the app has
/// finished it: after a crash at any point, unfinished transactions come again when an observer is added.
// @unchecked: the engine is Sendable, and nothing else is held.
open class SKPaymentQueue: NSObject, @unchecked Sendable {
    private static let shared = SKPaymentQueue()

    private let fixedEngine: StoreKitEngine?

    /// Another front of the same queue as ``default()``.
    public override init() {
        fixedEngine = nil
        super.init()
    }

    init(engine: StoreKitEngine) {
        fixedEngine = engine
        super.init()
    }

    private var engine: StoreKitEngine { fixedEngine ?? .shared }
    /// The same, for what stands in other files.
    final var configuredEngine: StoreKitEngine { engine }

    /// The app's queue. Its configuration is read at first use (``StoreKitConfiguration``).
    open class func `default`() -> SKPaymentQueue { shared }

    /// Whether this device and its account may buy at all; says nothing of the network.
    open class func canMakePayments() -> Bool { StoreKitEngine.shared.canMakePayments }

    /// Adds an observer, which is not retained. It is told of everything unfinished; the first also makes the queue
    /// speak to the store.
    open func add(_ observer: any SKPaymentTransactionObserver) {
        engine.payments.add(observer, queue: self)
        engine.offerConfiguredIntent()
    }

    /// Removes an observer; it is told nothing more.
    open func remove(_ observer: any SKPaymentTransactionObserver) { engine.payments.remove(observer) }

    /// Is asked before the queue goes on in another storefront or asks about a price; not retained.
    open weak var delegate: (any SKPaymentQueueDelegate)? {
        get { engine.payments.callbacks.delegate }
        set { engine.payments.callbacks.setDelegate(newValue, queue: self) }
    }

    /// Asks the customer about the price increases that the delegate put off; does nothing when there are none.
    open func showPriceConsentIfNeeded() { engine.showPriceConsent() }

    /// Asks the customer for a code, on the payment sheet. What it gives comes through `updatedTransactions`.
    open func presentCodeRedemptionSheet() { engine.redeemCode() }

    /// The observers now registered.
    open var transactionObservers: [any SKPaymentTransactionObserver] { engine.payments.observers }

    /// Adds a copy of `payment`. On return it is in the journal, also when the app exits right after. As at Apple's, an empty product identifier or a quantity below 1 is a programmer's
    /// error and traps; all else that is wrong with it comes back as a failed transaction.
    open func add(_ payment: SKPayment) {
        let values = PaymentValues(of: payment)
        precondition(!values.productIdentifier.isEmpty, "SKPaymentQueue.add: the payment names no product")
        precondition(
            values.quantity > 0,
            "SKPaymentQueue.add: the payment's quantity is \(values.quantity); it must be 1 or more")
        engine.payments.add(values)
    }

    /// Says that the app is done with a transaction: what was bought is delivered and saved. On return that is in the
    /// journal: the transaction does not come again, also when the app exits right after. The store is told, after a
    /// relaunch if need be, and then `removedTransactions` says so.
    ///
    /// Finishing a transaction that is still purchasing is a programmer's error and traps, as at Apple's; one that is
    /// deferred or not in the queue is left as it is. Downloads that are not finished are cancelled, and the content of
    /// finished ones is let go: it is removed at the next launch.
    open func finishTransaction(_ transaction: SKPaymentTransaction) {
        precondition(
            transaction.transactionState != .purchasing,
            "SKPaymentQueue.finishTransaction: cannot finish a transaction in the purchasing state")
        // The store may have sold it by now, of which the app has not heard.
        guard let key = transaction.key, transaction.transactionState != .deferred else { return }
        engine.payments.finish(key)
    }

    /// Returns once nothing is under way: the store's list is here, no receipt is being fetched, no purchase or finish is on
    /// its way, or they wait to be tried again. All that came of it was told by then. For the project's own programs.
    package func quiet() async { await engine.payments.quiet() }

    /// Whether nothing is in the queue, and nothing that was finished waits for the store to hear of it. For the
    /// project's own programs.
    package var isEmpty: Bool { engine.payments.isEmpty }

    // In the class itself and not in an extension, so that mocks can override them.

    /// Delivers again what the customer bought earlier and the app has finished: non-consumables, auto-renewable
    /// subscriptions (each period) and free subscriptions. For a new device, or an app that was installed again.
    ///
    /// Each comes through `updatedTransactions` as a new transaction in the state `restored`, whose `original` is the
    /// first one; finish it as any other. Then, once for each call, observers hear
    /// `paymentQueueRestoreCompletedTransactionsFinished`, also when there was nothing to restore, or
    /// `restoreCompletedTransactionsFailedWithError`. The app receipt is fresh before the first is told. The customer is
    /// asked to sign in when nobody is; cancelling that fails with ``SKError/Code/paymentCancelled``.
    open func restoreCompletedTransactions() { engine.payments.restore(username: nil) }

    /// The same for what was bought with this `applicationUsername`, to the letter; nil is all.
    open func restoreCompletedTransactions(withApplicationUsername username: String?) {
        engine.payments.restore(username: username)
    }

    /// What is in the queue, as the observers were last told, oldest first.
    open var transactions: [SKPaymentTransaction] { engine.payments.transactions }

    /// Where the device's account shops; nil until the store has said so.
    open var storefront: SKStorefront? { engine.storefront.map(SKStorefront.init) }

    // MARK: Downloads

    // What an app or a test made itself belongs to no transaction of the queue, and is left as it is, as at Apple's.

    /// Begins downloads of the queue's transactions: those that failed or were cancelled anew, paused ones where they
    /// stopped. What is under way is left as it is, so that an app may start what it is told is waiting. Some of them run at once
    /// (``StoreKitConfiguration/simultaneousDownloads``); the others wait, and follow by themselves.
    ///
    /// A download that was started goes on, where it stopped, after a lost network and after the app was killed: as soon as
    /// there is an observer again. Started after a relaunch, one that was finished before is told as finished once more.
    open func start(_ downloads: [SKDownload]) { engine.downloads?.start(downloads.compactMap(\.id)) }

    /// Halts downloads that were started, and keeps what has come; others are ignored.
    open func pause(_ downloads: [SKDownload]) { engine.downloads?.pause(downloads.compactMap(\.id)) }

    /// Goes on with paused downloads where they stopped; others are ignored.
    open func resume(_ downloads: [SKDownload]) { engine.downloads?.resume(downloads.compactMap(\.id)) }

    /// Gives downloads up that are not finished, and removes what has come; others are ignored.
    open func cancel(_ downloads: [SKDownload]) { engine.downloads?.cancel(downloads.compactMap(\.id)) }
}
