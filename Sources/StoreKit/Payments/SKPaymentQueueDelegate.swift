import Foundation

/// Is asked by the payment queue before it goes on. Both methods are optional; not retained by the queue. Calls come on
/// the callback queue, as the observers' do.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
    /// The account shops in another country's store than when the payment was added: true, as without this method, goes
    /// on with that store's price; false fails the transaction with ``SKError/Code/storeProductNotAvailable``.
    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool

    /// A subscription will cost more and the customer can be asked now: false, to be asked with
    /// ``SKPaymentQueue/showPriceConsentIfNeeded()`` at a better time. Set the delegate before adding observers.
    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool { true }

    public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}
