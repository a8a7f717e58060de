import StoreWire

/// The price of a product or an offer: one amount, with exceptions by storefront and currency.
public struct CatalogPrices: Sendable, Hashable {
    /// The amount in thousandths of the currency's unit. It applies in the currency of each storefront, because Xcode
    /// shows the number in a `.storekit` file in every storefront's own currency.
    public var amount: Int64
    /// Amounts by the storefront's country code. They take precedence over the others.
    public var byStorefront: [String: Int64]
    /// Amounts by ISO 4217 currency code, for all storefronts that charge in the currency.
    public var byCurrency: [String: Int64]

    /// Creates prices. All amounts are in thousandths of the currency's unit.
    public init(amount: Int64, byStorefront: [String: Int64], byCurrency: [String: Int64]) {
        self.amount = amount
        self.byStorefront = byStorefront
        self.byCurrency = byCurrency
    }

    /// The price in a storefront, in its currency.
    public func price(in storefront: Storefront) -> Money {
        let milliunits = byStorefront[storefront.countryCode] ?? byCurrency[storefront.currency] ?? amount
        return Money(milliunits: milliunits, currency: storefront.currency)
    }
}

/// The storefronts that sell a product.
public enum CatalogAvailability: Sendable, Hashable {
    /// Every storefront sells the product.
    case everywhere
    /// Only the storefronts with these country codes sell the product.
    case only(Set<String>)
    /// All storefronts except those with these country codes sell the product.
    case except(Set<String>)

    /// Whether the storefront sells the product.
    public func includes(_ storefront: Storefront) -> Bool {
        switch self {
        case .everywhere: true
        case .only(let countries): countries.contains(storefront.countryCode)
        case .except(let countries): !countries.contains(storefront.countryCode)
        }
    }
}
