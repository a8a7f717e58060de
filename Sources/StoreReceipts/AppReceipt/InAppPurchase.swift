import Foundation

/// One purchase in an app receipt (the SET inside attribute 17).
public struct InAppPurchase: Sendable, Equatable {
    /// 1701, INTEGER.
    public var quantity: Int64
    /// 1702, UTF8String.
    public var productID: String
    /// 1703, UTF8String.
    public var transactionID: String
    /// 1704, IA5String.
    public var purchaseDate: Date
    /// 1705, UTF8String; Xcode leaves it out.
    public var originalTransactionID: String?
    /// 1706, IA5String; Xcode leaves it out.
    public var originalPurchaseDate: Date?
    /// 1707, INTEGER: 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable.
    public var productType: Int64?
    /// 1708, IA5String: the end of a subscription's period.
    public var expiresDate: Date?
    /// 1710, INTEGER: the product's Apple ID; 0 in the sandbox.
    public var itemID: Int64?
    /// 1711, INTEGER; 0 for what is not a subscription.
    public var webOrderLineItemID: Int64?
    /// 1712, IA5String, empty when not cancelled.
    public var cancellationDate: Date?
    /// 1713, INTEGER 0 or 1.
    public var isTrialPeriod: Bool?
    /// 1719, INTEGER 0 or 1.
    public var isInIntroOfferPeriod: Bool?
    /// 1721, UTF8String.
    public var promotionalOfferID: String?
    /// Everything else (1709, 1714 to 1718, 1722 and whatever comes), as it stands.
    public var otherAttributes: [ReceiptAttribute]

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
