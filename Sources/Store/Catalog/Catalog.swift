import StoreWire

/// What the store sells: the apps by bundle id. A value; when a file changes a new one takes its place.
public struct Catalog: Sendable, Equatable {
    private let byBundleID: [BundleID: CatalogApp]

    /// Takes the apps together. Where the made numbers of two apps or of two apps' products meet, the later by bundle
    /// id gets another.
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

    /// All apps, by bundle id.
    public var apps: [CatalogApp] { byBundleID.values.sorted { $0.bundleID < $1.bundleID } }

    /// The app with this bundle identifier; nil when the catalog has none.
    public func app(_ bundleID: BundleID) -> CatalogApp? { byBundleID[bundleID] }

    /// The product with this identifier in the app; nil when the catalog has none.
    public func product(_ productID: ProductID, of bundleID: BundleID) -> CatalogProduct? {
        byBundleID[bundleID]?.product(productID)
    }

    /// The app or the product with a number. An app has two: the one in its file, and `appID`, the one its receipts
    /// carry.
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
