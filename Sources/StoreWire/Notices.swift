import Foundation

/// What the store has to tell a device that no purchase of its own brings about. Asked of ``StoreRoute/notices(_:after:languages:)``.
public struct NoticesResponse: Codable, Sendable, Equatable {
    /// The account as it is now: its storefront and whether it may buy may have changed.
    public var account: AccountDescription
    /// What the account lost since the cursor and does not own otherwise, each product once.
    public var revokedProductIDs: [ProductID]
    /// Give it back as `after` next time.
    public var cursor: Int64
    /// Whether more was lost than one answer names: ask on from ``cursor``.
    public var hasMore: Bool
    /// What the customer chose in the store and no device has taken up.
    public var promotions: [PromotionDescription]
    /// Price increases that the customer has not answered.
    public var priceIncreases: [PriceIncreaseDescription]

    public init(
        account: AccountDescription, revokedProductIDs: [ProductID], cursor: Int64, hasMore: Bool,
        promotions: [PromotionDescription], priceIncreases: [PriceIncreaseDescription]
    ) {
        self.account = account
        self.revokedProductIDs = revokedProductIDs
        self.cursor = cursor
        self.hasMore = hasMore
        self.promotions = promotions
        self.priceIncreases = priceIncreases
    }
}

/// A product that the customer chose to buy in the store itself.
public struct PromotionDescription: Codable, Sendable, Equatable {
    public var promotionID: UUID
    public var productID: ProductID

    public init(promotionID: UUID, productID: ProductID) {
        self.promotionID = promotionID
        self.productID = productID
    }
}

/// Takes a promoted purchase up, which one device can do once. Sent to ``StoreRoute/promotions``; 409 when another was
/// faster.
public struct PromotionRequest: Codable, Sendable, Equatable {
    public var promotionID: UUID

    public init(promotionID: UUID) { self.promotionID = promotionID }
}

/// A subscription that will cost more.
public struct PriceIncreaseDescription: Codable, Sendable, Hashable {
    public var productID: ProductID
    public var displayName: String
    public var oldPrice: Money
    public var newPrice: Money
    /// A locale identifier that formats both.
    public var priceLocale: String

    public init(
        productID: ProductID, displayName: String, oldPrice: Money, newPrice: Money, priceLocale: String
    ) {
        self.productID = productID
        self.displayName = displayName
        self.oldPrice = oldPrice
        self.newPrice = newPrice
        self.priceLocale = priceLocale
    }
}

/// The customer's answer to a price increase. Sent to ``StoreRoute/priceConsents``; the first answer stands.
public struct PriceConsentRequest: Codable, Sendable, Equatable {
    public var bundleID: BundleID
    public var productID: ProductID
    /// The price that was shown; another one is refused with ``WireError/Code/priceChanged``.
    public var newPrice: Money
    public var accepts: Bool

    public init(bundleID: BundleID, productID: ProductID, newPrice: Money, accepts: Bool) {
        self.bundleID = bundleID
        self.productID = productID
        self.newPrice = newPrice
        self.accepts = accepts
    }
}

/// Redeems a code for a product without charge. Sent to ``StoreRoute/redemptions``; answered with the transaction, which
/// stands in the list of unfinished ones. The same account repeating it gets the same transaction until it is finished.
public struct CodeRedemptionRequest: Codable, Sendable, Equatable {
    public var bundleID: BundleID
    /// At most ``StoreLimits/redemptionCode`` characters; capitals, blanks and hyphens do not matter.
    public var code: String

    public init(bundleID: BundleID, code: String) {
        self.bundleID = bundleID
        self.code = code
    }
}

/// What the payment sheet needs to know of the customer beside the product.
public struct CustomerState: Codable, Sendable, Equatable {
    /// The account as it is now.
    public var account: AccountDescription
    /// Which of the products asked for it owns for good: buying them again is free.
    public var ownedProductIDs: [ProductID]

    public init(account: AccountDescription, ownedProductIDs: [ProductID]) {
        self.account = account
        self.ownedProductIDs = ownedProductIDs
    }
}
