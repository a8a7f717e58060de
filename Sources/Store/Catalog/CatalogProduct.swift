import StoreWire

/// A product as the catalog describes it, with everything its file says.
public struct CatalogProduct: Sendable, Hashable {
    /// The product identifier, unique in the app.
    public var productID: ProductID
    /// The type of product, such as consumable.
    public var kind: ProductKind
    /// The seller's own name for it; customers do not see it.
    public var referenceName: String?
    /// Xcode's name of the product (eight hexadecimal digits), or App Store Connect's number of it.
    public var internalID: String?
    /// Zero for a free subscription.
    public var prices: CatalogPrices
    /// The storefronts that sell the product.
    public var availability: CatalogAvailability
    /// Whether the file marks the product for Family Sharing.
    public var isFamilyShareable: Bool
    /// Whether the store delivers content for it. Only non-consumables can have it, as at Apple's.
    public var isHosted: Bool
    /// In the file's order.
    public var localizations: [CatalogLocalization]
    /// Exactly for auto-renewable subscriptions.
    public var subscription: CatalogSubscription?
    /// Keys that this program does not know.
    public var unknown: [String: JSONValue]
    /// The product's number (`item_id` of a receipt): ``internalID`` where that is App Store Connect's number, else ten
    /// digits made from the bundle id and the product id. Given by ``CatalogApp`` and unique in a ``Catalog``.
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

    /// What the product costs in the storefront; nil when it is not sold there.
    public func price(in storefront: Storefront) -> Money? {
        availability.includes(storefront) ? prices.price(in: storefront) : nil
    }
}
