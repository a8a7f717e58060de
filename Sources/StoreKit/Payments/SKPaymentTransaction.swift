import Foundation
import StoreWire
import Synchronization

/// The state of a transaction.
public enum SKPaymentTransactionState: Int, Sendable {
    /// The payment sheet is shown, or the store is processing the payment.
    case purchasing = 0
    /// The customer paid. Deliver the product, then finish the transaction.
    case purchased = 1
    /// The payment failed; ``SKPaymentTransaction/error`` has the reason. Finish the transaction.
    case failed = 2
    /// A restore delivered an earlier purchase again. Unlock the product, then finish the transaction.
    case restored = 3
    /// The payment waits for approval, such as a parent's. Leave the transaction in the queue.
    case deferred = 4
}

// @unchecked: `record` is a Mutex, and all else is constant.
/// A payment in the queue. The object stays the same while its state changes. The state changes on the callback queue,
/// right before the queue calls the observers.
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

    /// The queue's key of the transaction; nil when no queue created it.
    final let key: UUID?
    private let record: Mutex<Record>
    private let paid: SKPayment

    /// Creates an empty transaction, for subclasses in tests.
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

    /// Removes and returns the downloads, which retain the transaction.
    final func releaseDownloads() -> [SKDownload] {
        record.withLock { record in
            defer { record.downloads = [] }
            return record.downloads
        }
    }

    /// The reason for the failure, an ``SKError``; nil in every other state than `failed`.
    open var error: (any Error)? { record.withLock { $0.error } }
    /// The first transaction of the same purchase, for a restored or renewed transaction.
    open var original: SKPaymentTransaction? { record.withLock { $0.original } }
    /// The payment as the app added it.
    open var payment: SKPayment { paid }
    /// The store's date of the transaction. Only purchased and restored transactions have one.
    open var transactionDate: Date? { record.withLock { $0.transactionDate } }
    /// The store's transaction identifier, the same at every delivery. Grant each identifier once. Only purchased and
    /// restored transactions have one.
    open var transactionIdentifier: String? { record.withLock { $0.transactionIdentifier } }
    /// The iOS 6 receipt of this transaction alone, a property list. Only purchased transactions have one. Apple
    /// deprecated it in favour of the app receipt.
    open var transactionReceipt: Data? { record.withLock { $0.transactionReceipt } }
    /// The downloads of a purchased or restored transaction: one when the store hosts content for the product, else
    /// none. They wait for ``SKPaymentQueue/start(_:)``. The array is empty once the transaction has left the queue.
    open var downloads: [SKDownload] { record.withLock { $0.downloads } }
    /// The state of the transaction.
    open var transactionState: SKPaymentTransactionState { record.withLock { $0.state } }
}
