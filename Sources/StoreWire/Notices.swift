import Foundation

/// The changes that a device learns of without buying anything: revocations, promoted purchases and price increases.
/// The answer to ``StoreRoute/notices(_:after:languages:)``.
public struct NoticesResponse: Codable, Sendable, Equatable {
    /// The account's current state: its storefront, and whether it may buy, may have changed.
    public var account: AccountDescription
    /// The products that the account has lost since the cursor and does not own through another purchase, each listed
    /// once.
    public var revokedProductIDs: [ProductID]
    /// Send this value as `after` in the next request.
    public var cursor: Int64
    /// Whether more products were lost than one answer lists. If so, ask again from ``cursor``.
    public var hasMore: Bool
    /// The products that the customer chose in the store and that no device has claimed.
    public var promotions: [PromotionDescription]
    /// Price increases that the customer has not answered.
    public var priceIncreases: [PriceIncreaseDescription]

    /// Creates a notices response.
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

    private enum CodingKeys: String, CodingKey {
        case account
        case revokedProductIDs = "revokedProductIds"
        case cursor, hasMore, promotions, priceIncreases
    }
}

/// A promoted purchase: a product that the customer chose to buy in the store itself.
public struct PromotionDescription: Codable, Sendable, Equatable {
    /// The promoted purchase's identifier.
    public var promotionID: UUID
    /// The product that the customer chose.
    public var productID: ProductID

    /// Creates a promotion description.
    public init(promotionID: UUID, productID: ProductID) {
        self.promotionID = promotionID
        self.productID = productID
    }

    private enum CodingKeys: String, CodingKey {
        case promotionID = "promotionId"
        case productID = "productId"
    }
}

/// Claims a promoted purchase for this device. Sent to ``StoreRoute/promotions``. Only one device can claim it; the
/// store answers 409 to every other.
public struct PromotionRequest: Codable, Sendable, Equatable {
    /// The promoted purchase's identifier, from ``PromotionDescription/promotionID``.
    public var promotionID: UUID

    /// Creates a promotion request.
    public init(promotionID: UUID) { self.promotionID = promotionID }

    private enum CodingKeys: String, CodingKey {
        case promotionID = "promotionId"
    }
}

/// A price increase of a subscription.
public struct PriceIncreaseDescription: Codable, Sendable, Hashable {
    /// The subscription's product identifier.
    public var productID: ProductID
    /// The product's name for people.
    public var displayName: String
    /// The price of the current renewal period.
    public var oldPrice: Money
    /// The price after the increase.
    public var newPrice: Money
    /// A locale identifier that formats both prices.
    public var priceLocale: String

    /// Creates a price increase description.
    public init(
        productID: ProductID, displayName: String, oldPrice: Money, newPrice: Money, priceLocale: String
    ) {
        self.productID = productID
        self.displayName = displayName
        self.oldPrice = oldPrice
        self.newPrice = newPrice
        self.priceLocale = priceLocale
    }

    private enum CodingKeys: String, CodingKey {
        case productID = "productId"
        case displayName, oldPrice, newPrice, priceLocale
    }
}

/// The customer's answer to a price increase. Sent to ``StoreRoute/priceConsents``. The store keeps the first answer.
public struct PriceConsentRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The subscription's product identifier.
    public var productID: ProductID
    /// The price that the customer was shown. The store refuses any other price with ``WireError/Code/priceChanged``.
    public var newPrice: Money
    /// Whether the customer agrees to the new price.
    public var accepts: Bool

    /// Creates a price consent request.
    public init(bundleID: BundleID, productID: ProductID, newPrice: Money, accepts: Bool) {
        self.bundleID = bundleID
        self.productID = productID
        self.newPrice = newPrice
        self.accepts = accepts
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case productID = "productId"
        case newPrice, accepts
    }
}

/// Redeems a code for a product without charge. Sent to ``StoreRoute/redemptions``. The answer is the transaction,
/// which also appears in the list of unfinished transactions. An account that sends the same code again receives the
/// same transaction until the transaction is finished.
public struct CodeRedemptionRequest: Codable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: BundleID
    /// The code, at most ``StoreLimits/redemptionCode`` characters. Letter case, blanks and hyphens do not matter.
    public var code: String

    /// Creates a code redemption request.
    public init(bundleID: BundleID, code: String) {
        self.bundleID = bundleID
        self.code = code
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case code
    }
}

/// The facts about the customer that the payment sheet needs in addition to the product.
public struct CustomerState: Codable, Sendable, Equatable {
    /// The account's current state.
    public var account: AccountDescription
    /// The requested products that the account owns permanently. Buying them again is free.
    public var ownedProductIDs: [ProductID]

    /// Creates a customer state.
    public init(account: AccountDescription, ownedProductIDs: [ProductID]) {
        self.account = account
        self.ownedProductIDs = ownedProductIDs
    }

    private enum CodingKeys: String, CodingKey {
        case account
        case ownedProductIDs = "ownedProductIds"
    }
}
