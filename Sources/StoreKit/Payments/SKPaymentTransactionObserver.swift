import Foundation

/// Receives the queue's changes. The queue does not retain its observers. It calls them on
/// ``StoreKitConfiguration/callbackQueue``, by default the main queue. All methods except the first are optional.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
    /// Reports transactions that are new in the queue or have a new state. Deliver purchased ones, then finish them.
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

    /// Reports transactions that the app finished and that have left the queue.
    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])

    /// Reports that a restore failed with an ``SKError``.
    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)

    /// Reports that a restore is complete. `updatedTransactions` has received all restored transactions before, if any.
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)

    /// Reports downloads with a new progress or state.
    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload])

    /// Decides about a promoted product that the customer chose in the store.
    ///
    /// - Returns: true to add `payment` to the queue; false, the default, to leave it to the app, which may add it
    ///   later.
    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool

    /// Reports that the account has moved to another storefront. Prices and products may differ.
    func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue)

    /// Reports products that the customer is no longer entitled to, for example after a refund. The queue has refreshed
    /// the app receipt before.
    func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String])
}

extension SKPaymentTransactionObserver {
    /// Does nothing.
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {}

    /// Does nothing.
    public func paymentQueue(
        _ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error
    ) {}

    /// Does nothing.
    public func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {}

    /// Does nothing.
    public func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {}

    /// Leaves the payment to the app.
    public func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool { false }

    /// Does nothing.
    public func paymentQueueDidChangeStorefront(_ queue: SKPaymentQueue) {}

    /// Does nothing.
    public func paymentQueue(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {}
}
