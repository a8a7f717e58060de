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
    open var delegate: (any SKPaymentQueueDelegate)? {
        get { engine.payments.callbacks.delegate }
        set { engine.payments.callbacks.setDelegate(newValue, queue: self) }
    }

    /// Asks the customer about the price increases that the delegate put off; does nothing when there are none.
    open func showPriceConsentIfNeeded() { engine.showPriceConsent() }

    /// Asks the customer for a code, on the payment sheet. What it gives comes through `updatedTransactions`.
    open func presentCodeRedemptionSheet() { engine.redeemCode() }

    /// The observers now registered.
    open var transactionObservers: [any SKPaymentTransactionObserver] { engine.payments.observers }

    /// Adds a copy of `payment`. As at Apple's, an empty product identifier or a quantity below 1 is a programmer's
    /// error and traps; all else that is wrong with it comes back as a failed transaction.
    open func add(_ payment: SKPayment) {
        let values = PaymentValues(of: payment)
        precondition(!values.productIdentifier.isEmpty, "SKPaymentQueue.add: the payment names no product")
        precondition(
            values.quantity > 0,
            "SKPaymentQueue.add: the payment's quantity is \(values.quantity); it must be 1 or more")
        engine.payments.add(values)
    }

    /// Says that the app is done with a transaction: what was bought is delivered and saved. The store is told, again
    /// after a relaunch if need be, and then `removedTransactions` says so. Finishing one that is still purchasing is
    /// a programmer's error and traps, as at Apple's; one that is deferred or not in the queue is left as it is.
    open func finishTransaction(_ transaction: SKPaymentTransaction) {
        precondition(
            transaction.transactionState != .purchasing,
            "SKPaymentQueue.finishTransaction: cannot finish a transaction in the purchasing state")
        guard let key = transaction.key else { return }
        engine.payments.finish(key)
    }

    /// What is in the queue, as the observers were last told, oldest first.
    open var transactions: [SKPaymentTransaction] { engine.payments.transactions }

    /// Where the device's account shops; nil until the store has said so.
    open var storefront: SKStorefront? { engine.storefront.map(SKStorefront.init) }
}
