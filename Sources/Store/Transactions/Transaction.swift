import Foundation
import StoreWire

/// One row of the ledger. Dates are milliseconds since 1970 by the store's clock.
public struct Transaction: Sendable, Equatable {
    /// The kind of introductory offer of a subscription period.
    public enum Offer: String, Sendable {
        /// A free trial.
        case trial
        /// A paid introductory price.
        case introductory
    }

    /// The account that bought the product.
    public var accountID: AccountID
    /// The transaction's identifier, unique in the store.
    public var transactionID: TransactionID
    /// The first transaction of the same purchase; equal to ``transactionID`` when this is the first.
    public var originalTransactionID: TransactionID
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The product that was bought.
    public var productID: ProductID
    /// The product's number, Apple's `item_id`.
    public var itemID: Int64
    /// The type of product, such as consumable.
    public var kind: ProductKind
    /// The quantity that was bought, 1 to 10.
    public var quantity: Int
    /// The price for the whole quantity.
    public var price: Money
    /// The account's storefront at the purchase, ISO 3166-1 alpha-3.
    public var storefront: String
    /// When the product was bought, or when a restored transaction was delivered again.
    public var purchaseDate: Int64
    /// The purchase date of the original transaction.
    public var originalPurchaseDate: Int64
    /// When the subscription period ends; nil for products that do not expire.
    public var expiresDate: Int64?
    /// The identifier of this subscription period; nil for other products.
    public var webOrderLineItemID: Int64?
    /// The subscription group; nil for other products.
    public var subscriptionGroupID: SubscriptionGroupID?
    /// The introductory offer of this period; nil when the period had none.
    public var offer: Offer?
    /// The user name that the app gave with the payment.
    public var applicationUsername: String?
    /// The key of the purchase; nil when no payment of a device created the transaction.
    public var idempotencyKey: UUID?
    /// When the app finished the transaction; nil until then.
    public var finishedAt: Int64?
    /// When the purchase was refunded; nil if it was not.
    public var revokedAt: Int64?
    /// The reason for the refund: 0 other reasons, 1 an issue with the app; nil without a refund.
    public var revocationReason: Int64?
    /// The promotional, code or win-back offer that set the price; nil for none.
    public var namedOffer: NamedOffer?
    /// Whether a change of plan ended this subscription period early.
    public var isUpgraded = false
    /// The refunded part of ``price``, in milliunits of its currency.
    public var refunded: Int64 = 0
    /// Whether the subscription's renewal paid this period, and not a purchase of the customer.
    public var isRenewal = false
    /// How the period's offer is paid; nil without an offer, and for most offers in rows of older versions.
    public var offerTerms: OfferTerms?
    /// The purchaser's transaction, if a member of the family bought the product; nil for the account's own.
    public var sharedFrom: TransactionID?

    /// The application user name in lower case if it is a UUID, else nil. App receipts and `verifyReceipt` answers have
    /// it as the app account token.
    public var appAccountToken: String? {
        applicationUsername.flatMap { UUID(uuidString: $0) }?.uuidString.lowercased()
    }

    /// Whether what the transaction paid for lasts at a date: it is neither refunded, nor replaced by a change of plan,
    /// nor over. A purchase without an end lasts for ever.
    ///
    /// A period that is paid ahead is current before it begins. A grace period is the subscription's, and no
    /// transaction shows it; for “is it active?” see ``Subscription/isActive(at:)``.
    public func isCurrent(at date: Int64) -> Bool {
        revokedAt == nil && !isUpgraded && expiresDate.map { date < $0 } ?? true
    }

    /// The description that devices receive.
    public var description: TransactionDescription {
        TransactionDescription(
            transactionID: transactionID, originalTransactionID: originalTransactionID, bundleID: bundleID,
            productID: productID,
            kind: kind, quantity: quantity, purchaseDate: purchaseDate, originalPurchaseDate: originalPurchaseDate,
            expiresDate: expiresDate, applicationUsername: applicationUsername, idempotencyKey: idempotencyKey)
    }
}
