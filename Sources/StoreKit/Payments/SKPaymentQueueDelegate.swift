import Foundation

/// Decides whether the payment queue continues. Both methods are optional. The queue does not retain its delegate, and
/// calls it on the callback queue, like the observers.
public protocol SKPaymentQueueDelegate: NSObjectProtocol {
    /// Decides about a payment whose account has moved to another country's storefront since the app added the payment.
    ///
    /// - Returns: true, the default, to continue with the new storefront's price; false to fail the transaction with
    ///   ``SKError/Code/storeProductNotAvailable``.
    func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool

    /// Decides whether the queue asks the customer to consent to a subscription's price increase now. Set the delegate
    /// before adding observers.
    ///
    /// - Returns: true, the default, to ask now; false to ask later, with
    ///   ``SKPaymentQueue/showPriceConsentIfNeeded()``.
    func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool
}

extension SKPaymentQueueDelegate {
    /// Continues with the new storefront's price.
    public func paymentQueue(
        _ paymentQueue: SKPaymentQueue, shouldContinue transaction: SKPaymentTransaction,
        in newStorefront: SKStorefront
    ) -> Bool { true }

    /// Asks the customer now.
    public func paymentQueueShouldShowPriceConsent(_ paymentQueue: SKPaymentQueue) -> Bool { true }
}
