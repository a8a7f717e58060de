import Foundation

// Apple's delegates and observers have optional Objective-C methods. Code written for them calls those methods with a
// question mark: `delegate?.requestDidFinish?(self)`. In this module every method has a default implementation, so the
// compiler would reject the question mark. Therefore this file declares each optional method again, as an optional
// value that calls the method. The overload is disfavoured, so that members of the same names in apps take precedence.

extension SKRequestDelegate {
    /// `requestDidFinish(_:)` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var requestDidFinish: ((SKRequest) -> Void)? { { self.requestDidFinish($0) } }

    /// The methods named `request` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var request: OptionalRequestMethods? { OptionalRequestMethods(delegate: self) }
}

/// The optional method of ``SKRequestDelegate`` whose name begins with `request`.
public struct OptionalRequestMethods {
    fileprivate let delegate: any SKRequestDelegate

    /// Calls `request(_:didFailWithError:)` of the delegate.
    public func callAsFunction(_ request: SKRequest, didFailWithError error: any Error) {
        delegate.request(request, didFailWithError: error)
    }
}

extension SKPaymentTransactionObserver {
    /// The methods named `paymentQueue` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueue: OptionalObserverMethods? { OptionalObserverMethods(observer: self) }

    /// `paymentQueueRestoreCompletedTransactionsFinished(_:)` as an optional value, for calls with a question mark.
    /// Never nil.
    @_disfavoredOverload
    public var paymentQueueRestoreCompletedTransactionsFinished: ((SKPaymentQueue) -> Void)? {
        { self.paymentQueueRestoreCompletedTransactionsFinished($0) }
    }

    /// `paymentQueueDidChangeStorefront(_:)` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueueDidChangeStorefront: ((SKPaymentQueue) -> Void)? {
        { self.paymentQueueDidChangeStorefront($0) }
    }
}

/// The optional methods of ``SKPaymentTransactionObserver`` whose names begin with `paymentQueue`.
public struct OptionalObserverMethods {
    fileprivate let observer: any SKPaymentTransactionObserver

    /// Calls `paymentQueue(_:removedTransactions:)` of the observer.
    public func callAsFunction(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        observer.paymentQueue(queue, removedTransactions: transactions)
    }

    /// Calls `paymentQueue(_:restoreCompletedTransactionsFailedWithError:)` of the observer.
    public func callAsFunction(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error) {
        observer.paymentQueue(queue, restoreCompletedTransactionsFailedWithError: error)
    }

    /// Calls `paymentQueue(_:updatedDownloads:)` of the observer.
    public func callAsFunction(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        observer.paymentQueue(queue, updatedDownloads: downloads)
    }

    /// Calls `paymentQueue(_:shouldAddStorePayment:for:)` of the observer.
    public func callAsFunction(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool {
        observer.paymentQueue(queue, shouldAddStorePayment: payment, for: product)
    }

    /// Calls `paymentQueue(_:didRevokeEntitlementsForProductIdentifiers:)` of the observer.
    public func callAsFunction(
        _ queue: SKPaymentQueue, didRevokeEntitlementsForProductIdentifiers productIdentifiers: [String]
    ) {
        observer.paymentQueue(queue, didRevokeEntitlementsForProductIdentifiers: productIdentifiers)
    }
}

extension SKPaymentQueueDelegate {
    /// The methods named `paymentQueue` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueue: OptionalQueueDelegateMethods? { OptionalQueueDelegateMethods(delegate: self) }

    /// `paymentQueueShouldShowPriceConsent(_:)` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var paymentQueueShouldShowPriceConsent: ((SKPaymentQueue) -> Bool)? {
        { self.paymentQueueShouldShowPriceConsent($0) }
    }
}

/// The optional method of ``SKPaymentQueueDelegate`` whose name begins with `paymentQueue`.
public struct OptionalQueueDelegateMethods {
    fileprivate let delegate: any SKPaymentQueueDelegate

    /// Calls `paymentQueue(_:shouldContinue:in:)` of the delegate.
    public func callAsFunction(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool {
        delegate.paymentQueue(paymentQueue, shouldContinue: transaction, in: newStorefront)
    }
}

extension SKStoreProductViewControllerDelegate {
    /// `productViewControllerDidFinish(_:)` as an optional value, for calls with a question mark. Never nil.
    @_disfavoredOverload
    public var productViewControllerDidFinish: ((SKStoreProductViewController) -> Void)? {
        { self.productViewControllerDidFinish($0) }
    }
}
