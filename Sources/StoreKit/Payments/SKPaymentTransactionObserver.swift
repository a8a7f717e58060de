import Foundation

/// Is told what happens in the queue. Observers are not retained; calls come on the main queue unless the
/// configuration says another.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
    /// Transactions are new in the queue or changed their state. Deliver the purchased ones, then finish them.
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])

    /// Transactions were finished and have left the queue. Optional.
    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction])
}

extension SKPaymentTransactionObserver {
    public func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {}
}
