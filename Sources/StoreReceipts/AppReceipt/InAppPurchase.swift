import Foundation

/// A purchase in an app receipt (the SET inside attribute 17).
public struct InAppPurchase: Sendable, Equatable {
    /// How many items were bought (attribute 1701, INTEGER).
    public var quantity: Int64
    /// The product's identifier (attribute 1702, UTF8String).
    public var productID: String
    /// The transaction's identifier (attribute 1703, UTF8String).
    public var transactionID: String
    /// When the product was bought, renewed or restored (attribute 1704, IA5String).
    public var purchaseDate: Date
    /// The first transaction's identifier (attribute 1705, UTF8String). Xcode leaves it out.
    public var originalTransactionID: String?
    /// The first transaction's date (attribute 1706, IA5String). Xcode leaves it out.
    public var originalPurchaseDate: Date?
    /// The product's type (attribute 1707, INTEGER): 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable.
    public var productType: Int64?
    /// The end of the subscription's period (attribute 1708, IA5String).
    public var expiresDate: Date?
    /// The product's Apple ID (attribute 1710, INTEGER); 0 in the sandbox.
    public var itemID: Int64?
    /// The number of the subscription's period (attribute 1711, INTEGER); 0 for other products.
    public var webOrderLineItemID: Int64?
    /// When the purchase was cancelled (attribute 1712, IA5String); the string is empty for a purchase that was not
    /// cancelled.
    public var cancellationDate: Date?
    /// Whether the period is a free trial (attribute 1713, INTEGER 0 or 1).
    public var isTrialPeriod: Bool?
    /// Whether the period has an introductory price (attribute 1719, INTEGER 0 or 1).
    public var isInIntroOfferPeriod: Bool?
    /// The promotional offer's identifier (attribute 1721, UTF8String).
    public var promotionalOfferID: String?
    /// The attributes that have no property of their own (1709, 1714 to 1718, 1722 and any others), with unchanged
    /// values.
    public var otherAttributes: [ReceiptAttribute]

    /// Creates a purchase.
    public init(
        quantity: Int64, productID: String, transactionID: String, purchaseDate: Date, originalTransactionID: String?,
        originalPurchaseDate: Date?, productType: Int64?, expiresDate: Date?, itemID: Int64?,
        webOrderLineItemID: Int64?,
        cancellationDate: Date?, isTrialPeriod: Bool?, isInIntroOfferPeriod: Bool?, promotionalOfferID: String?,
        otherAttributes: [ReceiptAttribute]
    ) {
        self.quantity = quantity
        self.productID = productID
        self.transactionID = transactionID
        self.purchaseDate = purchaseDate
        self.originalTransactionID = originalTransactionID
        self.originalPurchaseDate = originalPurchaseDate
        self.productType = productType
        self.expiresDate = expiresDate
        self.itemID = itemID
        self.webOrderLineItemID = webOrderLineItemID
        self.cancellationDate = cancellationDate
        self.isTrialPeriod = isTrialPeriod
        self.isInIntroOfferPeriod = isInIntroOfferPeriod
        self.promotionalOfferID = promotionalOfferID
        self.otherAttributes = otherAttributes
    }
}
