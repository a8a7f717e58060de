import StoreWire

/// The app's overrides of the store's promotions. As in Apple's StoreKit, they apply to this device only.
struct PromotionOverrides: Codable, Sendable, Equatable {
    /// The most products in either list.
    static let most = 1000

    /// The promoted products in the app's order; empty for the store's order.
    private(set) var order: [ProductID] = []
    /// The visibilities other than the default, by product.
    private var visibilities: [String: Int] = [:]

    enum Refusal: Error, Equatable {
        /// A product without an identifier, or with an invalid one.
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

    /// Sets the order. A product that occurs twice keeps its first place.
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
