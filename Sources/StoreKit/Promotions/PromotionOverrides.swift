import StoreWire

/// What the app set over the store's own promotions, on this device alone, as at Apple's.
struct PromotionOverrides: Codable, Sendable, Equatable {
    /// Products in either list; more are refused.
    static let most = 1000

    /// The promoted products in the app's order; empty for the store's own.
    private(set) var order: [ProductID] = []
    /// What is not the default, by product.
    private var visibilities: [String: Int] = [:]

    enum Refusal: Error, Equatable {
        /// A product without an identifier, or with one that no product can have.
        case badIdentifier
        case tooMany
    }

    func visibility(of product: ProductID) -> SKProductStorePromotionVisibility {
        visibilities[product.rawValue].flatMap(SKProductStorePromotionVisibility.init) ?? .default
    }

    mutating func set(_ visibility: SKProductStorePromotionVisibility, of product: ProductID) throws(Refusal) {
        try Self.check(product)
        var changed = visibilities
        changed[product.rawValue] = visibility == .default ? nil : visibility.rawValue
        guard changed.count <= Self.most else { throw .tooMany }
        visibilities = changed
    }

    /// A product that is named twice counts where it is named first.
    mutating func set(order products: [ProductID]) throws(Refusal) {
        for product in products { try Self.check(product) }
        var seen: Set<ProductID> = []
        let unique = products.filter { seen.insert($0).inserted }
        guard unique.count <= Self.most else { throw .tooMany }
        order = unique
    }

    private static func check(_ product: ProductID) throws(Refusal) {
        guard product.isPlain else { throw .badIdentifier }
    }
}
