import StoreWire

/// What one unit of a product gives.
public enum ProductGrant: Sendable, Hashable {
    /// Credits of a currency; those with a lifetime are gone so many seconds after they were granted.
    case credits(CurrencyID, amount: Int64, lifetime: Int64?)
    /// The right to use something: for good, or as long as the subscription lasts; one with a lifetime lasts so many seconds from the purchase, or
    /// from the end of the one that runs then.
    case entitlement(EntitlementID, lifetime: Int64? = nil)
    /// A file that the merchant delivers.
    case content(ContentItemID)
}

extension ProductGrant: Codable {
    private enum Key: String, CodingKey {
        case credits, currency, lifetime, entitlement, content
    }

    /// Reads `{"credits": 100, "currency": "gems", "lifetime": 86400}`, `{"entitlement": "pro", "lifetime": 86400}` (a lifetime
    /// may be left out) or `{"content": "issue-12"}`.
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

/// A product as the merchant sells it. Its price, name and description are the store's; StoreKit is asked for them.
public struct MerchantProduct: Codable, Sendable, Hashable {
    /// The app in which the product is sold.
    public var bundleID: BundleID
    /// The product's identifier, the same as in the store.
    public var productID: ProductID
    /// The product's kind, the same as in the store.
    public var kind: ProductKind
    /// What one unit gives.
    public var grants: [ProductGrant]
    /// Whether apps are shown it. What was bought before is redeemed in any case.
    public var isOnSale: Bool
    /// A word of the merchant's own about where the app shows it: a shelf, a section.
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
        case bundleID, productID, kind, grants, isOnSale, shelf
    }

    /// Decodes a product; `isOnSale` is true when the key is missing.
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

/// What is on sale in an app.
public struct ProductList: Codable, Sendable, Equatable {
    /// Rises with every change; the list's entity tag is made of it.
    public var revision: Int64
    /// In the order of their identifiers.
    public var products: [MerchantProduct]

    /// Creates a product list.
    public init(revision: Int64, products: [MerchantProduct]) {
        self.revision = revision
        self.products = products
    }
}
