import StoreWire

/// The reason why a device finds a product identifier among the invalid ones.
public enum SaleObstacle: Sendable, Equatable {
    /// The app has no product with this identifier. `similar` is one that differs only in capital letters or spaces.
    case unknown(similar: ProductID?)
    /// The storefront does not sell the product.
    case storefront
    /// In-app purchase is off for the managed app.
    case inAppPurchaseOff
    /// Required items of the checklist are missing, so no managed app sells anything.
    case checklist([ManagedChecklistItem.Name])
    /// The developer removed the product from sale.
    case removed
    /// The product is not Ready to Submit. `needs` are the things that it lacks.
    case incomplete(needs: [String])
    /// No version of the product was ever approved, and production sells only approved ones.
    case notApproved(ManagedState)
}

extension Store {
    /// Returns why devices in a storefront find a product identifier among the invalid ones; nil when this environment
    /// sells the product there.
    public func obstacle(
        to productID: ProductID, of bundleID: BundleID, in storefront: Storefront, managed: ManagedCatalog
    ) -> SaleObstacle? {
        let app = catalog.value.app(bundleID)
        if let product = app?.product(productID) { return product.price(in: storefront) == nil ? .storefront : nil }
        guard let managedApp = try? managed.app(bundleID) else {
            return .unknown(similar: Self.similar(to: productID, in: app?.products.map(\.productID) ?? []))
        }
        guard let product = managedApp.product(productID) else {
            return .unknown(similar: Self.similar(to: productID, in: managedApp.products.map(\.productID)))
        }
        guard managedApp.sellsInAppPurchases else { return .inAppPurchaseOff }
        let missing = managed.checklist.filter(\.isMissing).map(\.name)
        guard missing.isEmpty else { return .checklist(missing) }
        if product.isRemoved { return .removed }
        return environment == .sandbox ? .incomplete(needs: product.needs) : .notApproved(product.state)
    }

    private static func similar(to productID: ProductID, in known: [ProductID]) -> ProductID? {
        func plain(_ id: ProductID) -> String { id.rawValue.lowercased().filter { !$0.isWhitespace } }
        let wanted = plain(productID)
        return known.first { plain($0) == wanted }
    }
}
