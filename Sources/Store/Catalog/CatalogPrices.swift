import StoreWire

/// The price of a product or an offer: one amount, and what differs from it by storefront or by currency.
public struct CatalogPrices: Sendable, Hashable {
    /// Thousandths of the currency's unit, in the currency of whichever storefront is asked for: Xcode shows the number
    /// of a `.storekit` file in every storefront's own currency, and so does this store.
    public var amount: Int64
    /// By country code; goes before everything else.
    public var byStorefront: [String: Int64]
    /// By ISO 4217 code, for all storefronts that charge in it.
    public var byCurrency: [String: Int64]

    /// Creates prices. All amounts are in thousandths of the currency's unit.
    public init(amount: Int64, byStorefront: [String: Int64], byCurrency: [String: Int64]) {
        self.amount = amount
        self.byStorefront = byStorefront
        self.byCurrency = byCurrency
    }

    /// What is paid in the storefront, in its currency.
    public func price(in storefront: Storefront) -> Money {
        let milliunits = byStorefront[storefront.countryCode] ?? byCurrency[storefront.currency] ?? amount
        return Money(milliunits: milliunits, currency: storefront.currency)
    }
}

/// In which storefronts a product is sold.
public enum CatalogAvailability: Sendable, Hashable {
    /// Every storefront sells the product.
    case everywhere
    /// Country codes.
    case only(Set<String>)
    /// Country codes.
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
