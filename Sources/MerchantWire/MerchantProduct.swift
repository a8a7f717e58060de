import StoreWire

/// One grant of a product, for one unit.
public enum ProductGrant: Sendable, Hashable {
    /// Credits of a currency. With a lifetime, they expire so many seconds after they were granted.
    case credits(CurrencyID, amount: Int64, lifetime: Int64?)
    /// An entitlement. From a subscription, it lasts as long as the subscription; otherwise it lasts forever, or for a
    /// lifetime in seconds. A lifetime begins at the purchase, or at the end of the same entitlement's current
    /// lifetime.
    case entitlement(EntitlementID, lifetime: Int64? = nil)
    /// The right to download a content item from the merchant.
    case content(ContentItemID)
}

extension ProductGrant: Codable {
    private enum Key: String, CodingKey {
        case credits, currency, lifetime, entitlement, content
    }

    /// Reads `{"credits": 100, "currency": "gems", "lifetime": 86400}`, `{"entitlement": "pro", "lifetime": 86400}`
    /// (the lifetime is optional in both) or `{"content": "issue-12"}`.
    /// - Throws: `DecodingError` for other JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let kinds: [Key] = [.credits, .entitlement, .content]
        guard kinds.count(where: { container.contains($0) }) == 1 else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "a grant has exactly one of credits, entitlement and content"))
        }
        if container.contains(.credits) {
            self = .credits(
                try container.decode(CurrencyID.self, forKey: .currency),
                amount: try container.decode(Int64.self, forKey: .credits),
                lifetime: try container.decodeIfPresent(Int64.self, forKey: .lifetime))
        } else if container.contains(.entitlement) {
            self = .entitlement(
                try container.decode(EntitlementID.self, forKey: .entitlement),
                lifetime: try container.decodeIfPresent(Int64.self, forKey: .lifetime))
        } else {
            guard try container.decodeIfPresent(Int64.self, forKey: .lifetime) == nil else {
                throw DecodingError.dataCorruptedError(
                    forKey: .lifetime, in: container, debugDescription: "content has no lifetime")
            }
            self = .content(try container.decode(ContentItemID.self, forKey: .content))
        }
    }

    /// Writes the JSON object that ``init(from:)`` reads.
    /// - Throws: the error of `encoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        switch self {
        case .credits(let currency, let amount, let lifetime):
            try container.encode(amount, forKey: .credits)
            try container.encode(currency, forKey: .currency)
            try container.encodeIfPresent(lifetime, forKey: .lifetime)
        case .entitlement(let entitlement, let lifetime):
            try container.encode(entitlement, forKey: .entitlement)
            try container.encodeIfPresent(lifetime, forKey: .lifetime)
        case .content(let item): try container.encode(item, forKey: .content)
        }
    }
}

/// A product on the merchant's list. Its price, name and description come from the store, through StoreKit.
public struct MerchantProduct: Codable, Sendable, Hashable {
    /// The app in which the product is sold.
    public var bundleID: BundleID
    /// The product's identifier, the same as in the store.
    public var productID: ProductID
    /// The product's kind, the same as in the store.
    public var kind: ProductKind
    /// The grants of one unit.
    public var grants: [ProductGrant]
    /// Whether apps are offered the product. Earlier purchases can be redeemed either way.
    public var isOnSale: Bool
    /// The section of the app's shop that shows the product, in the merchant's own words; nil for no section.
    public var shelf: String?

    /// Creates a product.
    public init(
        bundleID: BundleID, productID: ProductID, kind: ProductKind, grants: [ProductGrant], isOnSale: Bool = true,
        shelf: String? = nil
    ) {
        self.bundleID = bundleID
        self.productID = productID
        self.kind = kind
        self.grants = grants
        self.isOnSale = isOnSale
        self.shelf = shelf
    }

    private enum CodingKeys: String, CodingKey {
        case bundleID = "bundleId"
        case productID = "productId"
        case kind, grants, isOnSale, shelf
    }

    /// Decodes a product; `isOnSale` is true when the key is missing.
    /// - Throws: `DecodingError` when a member is missing or of the wrong type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bundleID: try container.decode(BundleID.self, forKey: .bundleID),
            productID: try container.decode(ProductID.self, forKey: .productID),
            kind: try container.decode(ProductKind.self, forKey: .kind),
            grants: try container.decode([ProductGrant].self, forKey: .grants),
            isOnSale: try container.decodeIfPresent(Bool.self, forKey: .isOnSale) ?? true,
            shelf: try container.decodeIfPresent(String.self, forKey: .shelf))
    }
}

/// The products on sale in one app.
public struct ProductList: Codable, Sendable, Equatable {
    /// A number that rises with every change of the list. The list's entity tag (`ETag`) depends on its JSON instead,
    /// because a restored database may count to the same number with another list.
    public var revision: Int64
    /// The products, sorted by identifier.
    public var products: [MerchantProduct]

    /// Creates a product list.
    public init(revision: Int64, products: [MerchantProduct]) {
        self.revision = revision
        self.products = products
    }
}
