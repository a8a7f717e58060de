import Foundation

// Apple's delegates and observers have optional Objective-C methods, and code written for them calls those with a
// question mark: `delegate?.requestDidFinish?(self)`. Here every method is there, by a default implementation, and a
// question mark behind a method is an error. So each optional method stands here once more, as an optional value that
// calls the method; it is disfavoured, and members of the same names in apps win over it.

extension SKRequestDelegate {
    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var requestDidFinish: ((SKRequest) -> Void)? { { self.requestDidFinish($0) } }

    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var request: OptionalRequestMethods? { OptionalRequestMethods(delegate: self) }
}

/// The optional method of ``SKRequestDelegate`` whose name begins with `request`.
public struct OptionalRequestMethods {
    fileprivate let delegate: any SKRequestDelegate

    public func callAsFunction(_ request: SKRequest, didFailWithError error: any Error) {
        delegate.request(request, didFailWithError: error)
    }
}

extension SKPaymentTransactionObserver {
    /// For calls of optional methods with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueue: OptionalObserverMethods? { OptionalObserverMethods(observer: self) }

    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueueRestoreCompletedTransactionsFinished: ((SKPaymentQueue) -> Void)? {
        { self.paymentQueueRestoreCompletedTransactionsFinished($0) }
    }

    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueueDidChangeStorefront: ((SKPaymentQueue) -> Void)? {
        { self.paymentQueueDidChangeStorefront($0) }
    }
}

/// The optional methods of ``SKPaymentTransactionObserver`` whose names begin with `paymentQueue`.
public struct OptionalObserverMethods {
    fileprivate let observer: any SKPaymentTransactionObserver

    public func callAsFunction(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        observer.paymentQueue(queue, removedTransactions: transactions)
    }

    public func callAsFunction(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
    }

    public func callAsFunction(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        observer.paymentQueue(queue, updatedDownloads: downloads)
    }

    public func callAsFunction(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        observer.paymentQueue(queue, shouldAddStorePayment: payment, for: product)
    }

    public func callAsFunction(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: productIdentifiers)
    }
}

extension SKPaymentQueueDelegate {
    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueue: OptionalQueueDelegateMethods? { OptionalQueueDelegateMethods(delegate: self) }

    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueueShouldShowPriceConsent: ((SKPaymentQueue) -> Bool)? {
        { self.paymentQueueShouldShowPriceConsent($0) }
    }
}

/// The optional method of ``SKPaymentQueueDelegate`` whose name begins with `paymentQueue`.
public struct OptionalQueueDelegateMethods {
    fileprivate let delegate: any SKPaymentQueueDelegate

    public func callAsFunction(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool {
        delegate.paymentQueue(paymentQueue, shouldContinue: transaction, in: newStorefront)
    }
}

extension SKStoreProductViewControllerDelegate {
    /// For calls of the optional method with a question mark. Never nil.
    @_disfavoredOverload
    public var productViewControllerDidFinish: ((SKStoreProductViewController) -> Void)? {
        { self.productViewControllerDidFinish($0) }
    }
}
