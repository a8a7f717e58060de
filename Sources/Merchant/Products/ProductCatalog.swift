import CornerstoreEncoding
import Foundation
import MerchantWire
import StoreWire

/// The product list at one revision.
struct ProductCatalog: Sendable {
    struct Entry: Sendable {
        var product: MerchantProduct
        /// The grants as stored in the database. They are encoded once, not for every purchase.
        var grantsJSON: String
        /// The identities of purchases that were redeemed when the product had another kind.
        var formerIdentities: Set<RedemptionKey.Identity>
        /// The revision of the list.
        var revision: Int64
    }

    private struct Key: Hashable {
        var bundleID: BundleID
        var productID: ProductID
    }

    let revision: Int64
    private let entries: [Key: Entry]

    /// Creates a catalog.
    /// - Parameter kinds: all kinds that each product has had.
    init(revision: Int64, _ products: [MerchantProduct], kinds: [ProductID: Set<ProductKind>]) throws {
        self.revision = revision
        entries = try Dictionary(
            products.map { product in
                let identities = Set(kinds[product.productID, default: []].map { RedemptionKey.Identity($0) })
                return (
                    Key(bundleID: product.bundleID, productID: product.productID),
                    Entry(
                        product: product, grantsJSON: try Self.json(product.grants),
                        formerIdentities: identities.subtracting([RedemptionKey.Identity(product.kind)]),
                        revision: revision)
                )
            }, uniquingKeysWith: { $1 })
    }

    func entry(_ bundleID: BundleID, _ productID: ProductID) -> Entry? {
        entries[Key(bundleID: bundleID, productID: productID)]
    }

    /// Returns the products of an app, or of all apps for nil, sorted by identifier.
    func products(of bundleID: BundleID?) -> [MerchantProduct] {
        entries.values.map(\.product).filter { bundleID == nil || $0.bundleID == bundleID }
            .sorted { ($0.bundleID, $0.productID) < ($1.bundleID, $1.productID) }
    }

    /// Encodes grants for the database.
    static func json(_ grants: [ProductGrant]) throws -> String {
        String(decoding: try JSONEncoder.compact.encode(grants), as: UTF8.self)
    }

    /// Decodes grants from the database.
    static func grants(_ json: String) throws -> [ProductGrant] {
        try JSONDecoder().decode([ProductGrant].self, from: Data(json.utf8))
    }
}

extension MerchantProduct {
    /// Checks the product's names and grants.
    /// - Throws: ``MerchantError`` `invalid_request` with the first error.
    func check() throws {
        func refuse(_ what: String) -> MerchantError {
            MerchantError(.invalidRequest, "Product \(productID.rawValue.prefix(100)): \(what)")
        }
        try Merchant.checkName(bundleID.rawValue)
        try Merchant.checkName(productID.rawValue)
        guard bundleID.isPlain, productID.isPlain else {
            throw MerchantError(
                .invalidRequest,
                "Product \(productID.rawValue.prefix(100)): bundle and product identifiers have 1 to \(StoreLimits.identifier) visible "
                    + "ASCII characters; write them as in App Store Connect.")
        }
        if let shelf { try Merchant.checkName(shelf) }
        guard (1...MerchantLimits.grants).contains(grants.count) else {
            throw refuse("a product has 1 to \(MerchantLimits.grants) grants.")
        }
        guard Set(grants).count == grants.count else { throw refuse("the same grant is listed twice.") }
        var currencies: Set<CurrencyID> = []
        var names: Set<EntitlementID> = []
        for grant in grants {
            switch grant {
            case .credits(let currency, let amount, let lifetime):
                try Merchant.checkCurrency(currency)
                guard (1...MerchantLimits.amount).contains(amount) else {
                    throw refuse("credits must be between 1 and \(MerchantLimits.amount).")
                }
                try check(lifetime, refuse)
                guard currencies.insert(currency).inserted else {
                    throw refuse("credits of \(currency.rawValue.prefix(100)) are granted twice.")
                }
            case .entitlement(let name, let lifetime):
                try Merchant.checkName(name.rawValue)
                guard names.insert(name).inserted else {
                    throw refuse("the entitlement \(name.rawValue.prefix(100)) is granted twice.")
                }
                try check(lifetime, refuse)
                guard lifetime == nil || kind == .consumable || kind == .nonRenewingSubscription else {
                    throw refuse(
                        "only a consumable or a non-renewing subscription can grant an entitlement with a lifetime; the store decides "
                            + "when an auto-renewable subscription ends, and other products never end.")
                }
            case .content(let name): try Merchant.checkName(name.rawValue)
            }
        }
    }

    private func check(_ lifetime: Int64?, _ refuse: (String) -> MerchantError) throws {
        guard (1...ProductGrant.longestLifetime).contains(lifetime ?? 1) else {
            throw refuse("a lifetime must be between 1 and \(ProductGrant.longestLifetime) seconds.")
        }
    }
}

extension ProductGrant {
    /// The longest lifetime in seconds: about a hundred years.
    static let longestLifetime: Int64 = 3_200_000_000
}
