import Foundation

/// Additions to Apple's API, for actions that Apple's operating system takes by itself.
extension SKPaymentQueue {
    /// Opens a purchase intent link: `itms-services://?action=purchaseIntent&bundleId=…&productIdentifier=…`.
    ///
    /// Apple's system opens such a link when the customer chooses a promoted product. The queue then asks its observers
    /// with `shouldAddStorePayment`.
    ///
    /// - Returns: false when `url` is another kind of link, or names another app.
    @discardableResult
    public func openPurchaseIntent(_ url: URL) -> Bool { configuredEngine.openPurchaseIntent(url) }

    /// Asks the store for unfinished transactions, refunds, promoted purchases, price increases and a changed
    /// storefront. Apple's system does so when an app returns to the foreground. Without an observer, the method does
    /// nothing. Transactions that the store makes itself, such as renewals, arrive without a call while the app
    /// observes.
    public func checkStore() { configuredEngine.payments.checkStore() }

    /// Asks the store for refunds, promoted purchases, price increases and a changed storefront, and whether deferred
    /// payments of this device were approved. Unlike ``checkStore()``, it does not ask for unfinished transactions:
    /// another device of the account may be about to finish them. Without an observer, the method does nothing.
    package func checkNotices() { configuredEngine.payments.checkNotices() }
}
