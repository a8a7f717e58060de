import Database
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
    /// How many of the product were bought, 1 to 10.
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
    /// The identifier of the promotional offer that set the price; nil for none.
    public var promotionalOfferID: String?

    /// The application user name in lower case if it is a UUID, else nil. Apple's receipts show such a name as the app
    /// account token.
    public var appAccountToken: String? {
        applicationUsername.flatMap { UUID(uuidString: $0) }?.uuidString.lowercased()
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

extension Transaction {
    static let columns = """
        account_id, transaction_id, original_transaction_id, bundle_id, product_id, item_id, kind, quantity, price, currency, storefront, \
        purchase_date, original_purchase_date, expires_date, web_order_line_item_id, subscription_group_id, offer, \
        application_username, idempotency_key, finished_at, revoked_at, revocation_reason, \
        promotional_offer_id
        """

    init(_ row: Row) throws {
        guard let kind = ProductKind(rawValue: try row.string(6)) else {
            throw StoreError(.internalError, "The ledger holds a kind of product that this program does not know.")
        }
        self.init(
            accountID: AccountID(try row.string(0)), transactionID: TransactionID(rawValue: try row.int64(1)),
            originalTransactionID: TransactionID(rawValue: try row.int64(2)), bundleID: BundleID(try row.string(3)),
            productID: ProductID(try row.string(4)), itemID: try row.int64(5), kind: kind, quantity: try row.int(7),
            price: Money(milliunits: try row.int64(8), currency: try row.string(9)), storefront: try row.string(10),
            purchaseDate: try row.int64(11), originalPurchaseDate: try row.int64(12),
            expiresDate: try row.optionalInt64(13),
            webOrderLineItemID: try row.optionalInt64(14),
            subscriptionGroupID: try row.optionalString(15).map { SubscriptionGroupID($0) },
            offer: try row.optionalString(16).flatMap { Offer(rawValue: $0) },
            applicationUsername: try row.optionalString(17),
            idempotencyKey: try row.optionalString(18).flatMap { UUID(uuidString: $0) },
            finishedAt: try row.optionalInt64(19),
            revokedAt: try row.optionalInt64(20), revocationReason: try row.optionalInt64(21),
            promotionalOfferID: try row.optionalString(22))
    }

    /// The statement's text, built once because every purchase uses it.
    private static let insertion = """
        INSERT INTO transactions (\(columns)) VALUES
            ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23)
        """

    func insert(_ connection: Connection) throws {
        let values: [SQLValue] = [
            .text(accountID.rawValue), .integer(transactionID.rawValue), .integer(originalTransactionID.rawValue),
            .text(bundleID.rawValue), .text(productID.rawValue), .integer(itemID), .text(kind.rawValue),
            .integer(Int64(quantity)), .integer(price.milliunits), .text(price.currency), .text(storefront),
            .integer(purchaseDate), .integer(originalPurchaseDate), SQLValue(expiresDate), SQLValue(webOrderLineItemID),
            SQLValue(subscriptionGroupID?.rawValue), SQLValue(offer?.rawValue), SQLValue(applicationUsername),
            SQLValue(idempotencyKey?.text), SQLValue(finishedAt), SQLValue(revokedAt), SQLValue(revocationReason),
            SQLValue(promotionalOfferID),
        ]
        try connection.execute(Self.insertion, values)
    }
}

extension SQLValue {
    init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
}
