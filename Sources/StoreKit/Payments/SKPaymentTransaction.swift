import Foundation
import StoreWire
import Synchronization

/// Where a transaction stands.
public enum SKPaymentTransactionState: Int, Sendable {
    /// On its way to the store, or the customer is being asked.
    case purchasing = 0
    /// Paid: deliver, then finish it.
    case purchased = 1
    /// Not paid: ``SKPaymentTransaction/error`` says why; finish it.
    case failed = 2
    /// Bought earlier and delivered again; finish it.
    case restored = 3
    /// Waits for somebody's approval; leave it in the queue.
    case deferred = 4
}

/// A payment in the queue. The same object stays in the queue while its state changes; it changes on the callback
/// queue, right before the observers are told.
// @unchecked: `record` is a Mutex, and all else is constant.
open class SKPaymentTransaction: NSObject, @unchecked Sendable {
    struct Record: Sendable {
        var state = SKPaymentTransactionState.purchasing
        var error: SKError?
        var transactionIdentifier: String?
        var transactionDate: Date?
        var transactionReceipt: Data?
        var original: SKPaymentTransaction?
        var downloads: [SKDownload] = []
    }

    /// The queue's name for it; nil when no queue made it.
    final let key: UUID?
    private let record: Mutex<Record>
    private let paid: SKPayment

    /// An empty transaction, for subclasses in tests.
    public override init() {
        key = nil
        record = Mutex(Record())
        paid = SKPayment()
        super.init()
    }

    init(key: UUID?, payment: PaymentValues, record: Record) {
        self.key = key
        self.record = Mutex(record)
        paid = SKPayment()
        paid.values = payment
        super.init()
    }

    final func become(_ new: Record) { record.withLock { $0 = new } }

    /// Lets go of the downloads, which hold the transaction.
    final func releaseDownloads() -> [SKDownload] {
        record.withLock { record in
            defer { record.downloads = [] }
            return record.downloads
        }
    }

    /// Why it failed; nil in every other state. An ``SKError``.
    open var error: (any Error)? { record.withLock { $0.error } }
    /// The first transaction of the same purchase, for a restored or renewed one.
    open var original: SKPaymentTransaction? { record.withLock { $0.original } }
    /// The payment as it was when it was added.
    open var payment: SKPayment { paid }
    /// When the store made the transaction; only for purchased and restored ones.
    open var transactionDate: Date? { record.withLock { $0.transactionDate } }
    /// The store's id, the same at every delivery: grant each id once. Only for purchased and restored ones.
    open var transactionIdentifier: String? { record.withLock { $0.transactionIdentifier } }
    /// The iOS 6 receipt of this transaction alone (a property list); only for purchased ones. Apple deprecated it
    /// for the app receipt.
    open var transactionReceipt: Data? { record.withLock { $0.transactionReceipt } }
    /// The content to download, of purchased and restored transactions: one for a product whose content the store hosts,
    /// else none. They wait until ``SKPaymentQueue/start(_:)``. Empty once the transaction has left the queue.
    open var downloads: [SKDownload] { record.withLock { $0.downloads } }
    /// Where it stands.
    open var transactionState: SKPaymentTransactionState { record.withLock { $0.state } }
}
