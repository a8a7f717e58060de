import Foundation

/// What is ours and has no counterpart at Apple's, where the system does it.
extension SKPaymentQueue {
    /// Takes up a link of the form
    /// `itms-services://?action=purchaseIntent&bundleId=…&productIdentifier=…`, as the system does when the customer chose
    /// a promoted product: observers are asked with `shouldAddStorePayment`.
    /// - Returns: false when it is no such link, or for another app.
    @discardableResult
    public func openPurchaseIntent(_ url: URL) -> Bool { configuredEngine.openPurchaseIntent(url) }

    /// Asks the store for what is new, as the system does when an app comes back to the foreground: unfinished
    /// transactions, refunds, promoted purchases, price increases, another storefront. It does nothing without an observer.
    public func checkStore() { configuredEngine.payments.checkStore() }
}
