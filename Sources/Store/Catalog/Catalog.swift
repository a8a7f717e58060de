import StoreWire

/// The apps and products that the store sells. A catalog does not change; a changed file produces a new one.
public struct Catalog: Sendable, Equatable {
    private let byBundleID: [BundleID: CatalogApp]

    /// Creates a catalog. If generated numbers of apps or products collide, the app that is later by bundle id gets
    /// another number.
    ///
    /// - Throws: ``CatalogError/Code/duplicateApp`` when a bundle id appears twice.
    public init(apps: [CatalogApp]) throws(CatalogError) {
        var byBundleID: [BundleID: CatalogApp] = [:]
        var taken: Set<Int64> = []
        let sorted = apps.sorted { $0.bundleID < $1.bundleID }
        for app in sorted {
            taken.formUnion(app.settings.applicationInternalID.flatMap { CatalogItemID.number($0) }.map { [$0] } ?? [])
        }
        for var app in sorted {
            guard byBundleID[app.bundleID] == nil else { throw Self.duplicate(app.bundleID) }
            Self.makeUnique(&app, &taken)
            byBundleID[app.bundleID] = app
        }
        self.byBundleID = byBundleID
    }

    /// A catalog without apps.
    public static let empty = Catalog(byBundleID: [:])

    private init(byBundleID: [BundleID: CatalogApp]) { self.byBundleID = byBundleID }

    /// All apps in the order of their bundle ids.
    public var apps: [CatalogApp] { byBundleID.values.sorted { $0.bundleID < $1.bundleID } }

    /// The app with this bundle identifier; nil when the catalog has none.
    public func app(_ bundleID: BundleID) -> CatalogApp? { byBundleID[bundleID] }

    /// The product with this identifier in the app; nil when the catalog has none.
    public func product(_ productID: ProductID, of bundleID: BundleID) -> CatalogProduct? {
        byBundleID[bundleID]?.product(productID)
    }

    /// Finds the app or product with a number. An app has two numbers: the one in its file, and the one in its
    /// receipts, which `appID` returns.
    public func item(
        _ itemID: Int64, appID: (BundleID) -> Int64?
    ) -> (app: CatalogApp, product: CatalogProduct?)? {
        for app in byBundleID.values {
            if app.itemID == itemID || appID(app.bundleID) == itemID { return (app, nil) }
            if let product = app.products.first(where: { $0.itemID == itemID }) { return (app, product) }
        }
        return nil
    }

    private static func makeUnique(_ app: inout CatalogApp, _ taken: inout Set<Int64>) {
        if CatalogItemID.number(app.settings.applicationInternalID) == nil {
            while !taken.insert(app.itemID).inserted { app.itemID += 1 }
        }
        for (index, product) in app.products.enumerated() where !taken.insert(product.itemID).inserted {
            let itemID = CatalogItemID.free(product.productID, of: app.bundleID, in: &taken)
            app.setItemID(itemID, ofProductAt: index)
        }
    }

    private static func duplicate(_ bundleID: BundleID) -> CatalogError {
        let message = "the app \(bundleID) is described twice; keep one of the two, or give one another bundle id"
        return CatalogError(
            code: .duplicateApp,
            problems: [CatalogProblem(file: "catalog", line: nil, column: nil, keyPath: "", message: message)]
        )
    }
}
