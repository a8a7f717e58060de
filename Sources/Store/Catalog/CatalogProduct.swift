import StoreWire

/// A product with everything that its catalog file contains.
public struct CatalogProduct: Sendable, Hashable {
    /// The product identifier, unique in the app.
    public var productID: ProductID
    /// The type of product, such as consumable.
    public var kind: ProductKind
    /// The seller's own name for the product; customers do not see it.
    public var referenceName: String?
    /// Xcode's identifier of the product (eight hexadecimal digits), or App Store Connect's number.
    public var internalID: String?
    /// The price. Zero for a free subscription.
    public var prices: CatalogPrices
    /// The storefronts that sell the product.
    public var availability: CatalogAvailability
    /// Whether the file marks the product for Family Sharing.
    public var isFamilyShareable: Bool
    /// Whether a family can share the product: a subscription or non-consumable that is marked for it.
    var isShareable: Bool { isFamilyShareable && (kind == .autoRenewableSubscription || kind == .nonConsumable) }
    /// Whether the store hosts content for the product. As in Apple's store, only non-consumables can have hosted
    /// content.
    public var isHosted: Bool
    /// The names and descriptions, in the file's order.
    public var localizations: [CatalogLocalization]
    /// The subscription's properties; nil for all other kinds of product.
    public var subscription: CatalogSubscription?
    /// The keys that this program does not know.
    public var unknown: [String: JSONValue]
    /// The product's number (`item_id` of a receipt): ``internalID`` if it is App Store Connect's number, else ten
    /// digits generated from the bundle id and the product id. ``CatalogApp`` assigns it. Unique in a ``Catalog``.
    public internal(set) var itemID: Int64 = 0

    /// Creates a product. ``itemID`` is zero until a ``CatalogApp`` assigns it.
    public init(
        productID: ProductID, kind: ProductKind, referenceName: String?, internalID: String?, prices: CatalogPrices,
        availability: CatalogAvailability, isFamilyShareable: Bool, isHosted: Bool,
        localizations: [CatalogLocalization],
        subscription: CatalogSubscription?, unknown: [String: JSONValue]
    ) {
        self.productID = productID
        self.kind = kind
        self.referenceName = referenceName
        self.internalID = internalID
        self.prices = prices
        self.availability = availability
        self.isFamilyShareable = isFamilyShareable
        self.isHosted = isHosted
        self.localizations = localizations
        self.subscription = subscription
        self.unknown = unknown
    }

    /// The product's price in a storefront; nil when the storefront does not sell it.
    public func price(in storefront: Storefront) -> Money? {
        availability.includes(storefront) ? prices.price(in: storefront) : nil
    }
}
