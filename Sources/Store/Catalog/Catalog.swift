import StoreWire

/// The apps and products that the store sells. A catalog does not change; a changed file produces a new one.
public struct Catalog: Sendable, Equatable {
    private var byBundleID: [BundleID: CatalogApp]
    /// The items of the storefront, in the order of their numbers.
    public let items: [CatalogItem]
    /// The catalog file of each app that was read from one.
    private var files: [BundleID: String] = [:]
    /// The numbers of the songs of each album and of the episodes of each season, in their order.
    private let contents: [Int64: [Int64]]

    /// Creates a catalog. If generated numbers of apps or products collide, the app that is later by bundle id gets
    /// another number. An app with an item has the item's number.
    ///
    /// - Throws: ``CatalogError/Code/duplicateApp`` when a bundle id appears twice, and ``CatalogError/Code/invalid``
    ///   when two items have one number, or an item and its app do not fit.
    public init(apps: [CatalogApp], items: [CatalogItem] = []) throws(CatalogError) {
        var byBundleID: [BundleID: CatalogApp] = [:]
        let sorted = apps.sorted { $0.bundleID < $1.bundleID }
        let numbers = try Self.numbers(of: items, apps)
        var taken = Set(items.map(\.number))
        for app in sorted {
            taken.formUnion(app.settings.applicationInternalID.flatMap { CatalogItemID.number($0) }.map { [$0] } ?? [])
        }
        for var app in sorted {
            guard byBundleID[app.bundleID] == nil else { throw Self.duplicate(app.bundleID) }
            Self.makeUnique(&app, numbers[app.bundleID], &taken)
            byBundleID[app.bundleID] = app
        }
        self.byBundleID = byBundleID
        self.items = items.sorted { $0.number < $1.number }
        contents = Dictionary(grouping: items.filter { $0.place != nil }) { $0.place?.collection ?? 0 }.mapValues {
            $0.sorted { $0.isBefore($1) }.map(\.number)
        }
    }

    /// A catalog without apps.
    public static let empty = Catalog(byBundleID: [:])

    private init(byBundleID: [BundleID: CatalogApp]) { (self.byBundleID, items, contents) = (byBundleID, [], [:]) }

    /// The catalog file of an app; nil when the app was not read from one.
    public func file(of bundleID: BundleID) -> String? { files[bundleID] }

    /// The same catalog, read from files.
    func read(from files: [BundleID: String]) -> Catalog {
        var catalog = self
        catalog.files = files
        return catalog
    }

    /// The catalog with more apps. Apps that this catalog has already stay as they are. Apps and products of this
    /// catalog keep their numbers.
    func joined(with others: [CatalogApp]) -> Catalog {
        guard !others.isEmpty else { return self }
        var joined = byBundleID
        var taken = Set(items.map(\.number))
        for app in byBundleID.values { taken.formUnion([app.itemID] + app.products.map(\.itemID)) }
        for app in others {
            if let number = CatalogItemID.number(app.settings.applicationInternalID) { taken.insert(number) }
        }
        for var app in others.sorted(by: { $0.bundleID < $1.bundleID }) {
            guard joined[app.bundleID] == nil else { continue }
            Self.makeUnique(&app, nil, &taken)
            joined[app.bundleID] = app
        }
        return with(joined)
    }

    /// The catalog with changed apps. The change must keep an app's bundle id and the numbers of its products.
    func changingApps(_ change: (CatalogApp) -> CatalogApp) -> Catalog { with(byBundleID.mapValues(change)) }

    private func with(_ apps: [BundleID: CatalogApp]) -> Catalog {
        var catalog = self
        catalog.byBundleID = apps
        return catalog
    }

    /// The item with this number; nil when the catalog has none.
    public func storeItem(_ number: Int64) -> CatalogItem? {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < items.count && items[low].number == number ? items[low] : nil
    }

    /// The songs of an album or the episodes of a season, in their order; empty for other items.
    public func contents(of number: Int64) -> [CatalogItem] { (contents[number] ?? []).compactMap { storeItem($0) } }

    /// The item of an app; nil when the catalog has none.
    public func storeItem(bundleID: BundleID) -> CatalogItem? {
        app(bundleID).flatMap { storeItem($0.itemID) }.flatMap { $0.bundleID == bundleID ? $0 : nil }
    }

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

    /// The numbers of the apps that have an item.
    private static func numbers(of items: [CatalogItem], _ apps: [CatalogApp]) throws(CatalogError) -> [BundleID: Int64]
    {
        var (numbers, seen, problems) = ([BundleID: Int64](), Set<Int64>(), [String]())
        let given = Dictionary(
            apps.map { ($0.bundleID, CatalogItemID.number($0.settings.applicationInternalID)) },
            uniquingKeysWith: { first, _ in first })
        for item in items {
            if !seen.insert(item.number).inserted {
                problems.append("the item \(item.number) is described twice; give one of the two another number")
            }
            guard let bundleID = item.bundleID else { continue }
            if numbers.updateValue(item.number, forKey: bundleID) != nil {
                problems.append("the app \(bundleID) has two items; keep one")
            }
            guard let number = given[bundleID] else {
                problems.append("the item \(item.number) names the app \(bundleID), which no file describes")
                continue
            }
            if let number, number != item.number {
                problems.append(
                    "the app \(bundleID) has the number \(number), and its item \(item.number); write the same")
            }
        }
        guard problems.isEmpty else {
            throw CatalogError(
                code: .invalid,
                problems: problems.prefix(CatalogLimits.problems).map {
                    CatalogProblem(file: "catalog", line: nil, column: nil, keyPath: "items", message: $0)
                })
        }
        return numbers
    }

    private static func makeUnique(_ app: inout CatalogApp, _ number: Int64?, _ taken: inout Set<Int64>) {
        if let number {
            app.itemID = number
        } else if CatalogItemID.number(app.settings.applicationInternalID) == nil {
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
