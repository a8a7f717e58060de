import StoreWire

/// Reads and writes the parts of a managed app in our own catalog format. The readers and writers of catalog files do
/// the work, so that whatever a file can say is kept.
enum ManagedDocument {
    // MARK: Products

    /// The product as a YAML catalog has it. `displayPrice` is left out while the product has no price.
    static func value(of product: CatalogProduct, isPriced: Bool) -> JSONValue {
        let value = CornerstoreAppWriter(app: alone(product, of: "com.example.app")).value(of: product)
        guard !isPriced, case .object(var members) = value else { return value }
        members["displayPrice"] = nil
        return .object(members)
    }

    /// The product as YAML, for the history.
    static func text(of product: CatalogProduct, isPriced: Bool) -> String {
        YAMLText.text(of: value(of: product, isPriced: isPriced), order: CornerstoreCatalogFile.order)
    }

    /// Reads a product.
    /// - Parameters:
    ///   - value: the product's keys in a YAML catalog. Those of its id and type may be absent.
    ///   - kind: the type.
    ///   - group: the subscription's group; nil for other types.
    /// - Throws: ``StoreError`` `invalid_request` that names the wrong key.
    static func product(
        _ value: JSONValue, _ productID: ProductID, _ kind: ProductKind, in group: SubscriptionGroupID?
    ) throws -> (product: CatalogProduct, isPriced: Bool) {
        guard case .object(var members) = value else {
            throw StoreError(.invalidRequest, "The product's document must be an object.")
        }
        try checkFixed("productID", productID.rawValue, members)
        try checkFixed("type", CatalogKinds.name(kind), members)
        members["productID"] = .string(productID.rawValue)
        members["type"] = group == nil ? .string(CatalogKinds.name(kind)) : nil
        var isPriced = kind == .freeSubscription
        if !isPriced {
            isPriced = members["displayPrice"].map { $0 != .null } ?? false
            if !isPriced { members["displayPrice"] = .string("0") }
        }
        let list: JSONValue = .array([.object(members)])
        var app: [String: JSONValue] = ["bundleID": .string("com.example.app")]
        if let group {
            app["subscriptionGroups"] = .array([
                .object(["id": .string(group.rawValue), "name": .string(group.rawValue), "subscriptions": list])
            ])
        } else {
            app["products"] = list
        }
        let read = try read(.object(app), "apps[0].\(group == nil ? "" : "subscriptionGroups[0].subscriptions[0].")")
        guard let product = read.products.first else {
            throw StoreError(.invalidRequest, "The product's document describes no product.")
        }
        return (product, isPriced)
    }

    private static func checkFixed(_ key: String, _ value: String, _ members: [String: JSONValue]) throws {
        guard let given = members[key], given != .null, given != .string(value) else { return }
        throw StoreError(
            .invalidRequest, "\(key) is \(value) and cannot be changed; leave it out, or create another product.")
    }

    /// A product's row as an app with this product alone.
    static func stored(_ product: CatalogProduct, of bundleID: BundleID) -> String {
        var product = product
        product.localizations = []
        product.isHosted = false
        return CornerstoreCatalogFile.text(of: [alone(product, of: bundleID)])
    }

    /// Reads a product's row.
    static func storedProduct(_ text: String) throws -> CatalogProduct {
        guard var product = try storedApp(text).products.first else { throw unreadable }
        // The app numbers its products.
        product.itemID = 0
        return product
    }

    private static func alone(_ product: CatalogProduct, of bundleID: BundleID) -> CatalogApp {
        let groups = product.subscription.map {
            [CatalogSubscriptionGroup(id: $0.groupID, name: $0.groupID.rawValue, localizations: [], unknown: [:])]
        }
        return CatalogApp(
            bundleID: bundleID, name: nil, products: [product], groups: groups ?? [], settings: .usual, unknown: [:])
    }

    // MARK: Texts

    /// A version's texts as a YAML catalog has them.
    static func value(of texts: [CatalogLocalization]) -> JSONValue {
        CatalogWriter(dialect: .cornerstore).localizations(texts) ?? .array([])
    }

    /// A version's row.
    static func stored(_ texts: [CatalogLocalization]) -> String {
        YAMLText.text(of: .object(["localizations": value(of: texts)]), order: CornerstoreCatalogFile.order)
    }

    /// Reads a version's row.
    static func storedTexts(_ text: String) throws -> [CatalogLocalization] {
        do { return try readTexts(text) } catch { throw unreadable }
    }

    private static func readTexts(_ text: String) throws(CatalogError) -> [CatalogLocalization] {
        let reading = CatalogReading(file: "texts", dialect: .cornerstore)
        let root = try YAMLParser.parse(Array(text.utf8), file: reading.file)
        let texts = ObjectReader(root, "", kind: "product", reading)?.localizations(requiresName: true)
        try reading.finish()
        return texts ?? []
    }

    // MARK: Apps

    /// The app without products, as a YAML catalog has it.
    static func value(of app: CatalogApp) -> JSONValue { CornerstoreAppWriter(app: app).value }

    /// The app without products as YAML, for the history. The private key of promotional offers is left out.
    static func text(of app: CatalogApp) -> String {
        var app = app
        app.unknown["subscriptionOffersKeyPair"] = nil
        return YAMLText.text(of: value(of: app), order: CornerstoreCatalogFile.order)
    }

    /// An app's row.
    static func stored(_ app: CatalogApp) -> String { CornerstoreCatalogFile.text(of: [app]) }

    /// Reads a row.
    static func storedApp(_ text: String) throws -> CatalogApp {
        do {
            guard let app = try CornerstoreCatalogFile.read(Array(text.utf8), file: "database").apps.first else {
                throw unreadable
            }
            return app
        } catch is CatalogError {
            throw unreadable
        }
    }

    /// Reads an app without products.
    /// - Throws: ``StoreError`` `invalid_request` that names the wrong key.
    static func app(_ value: JSONValue, _ bundleID: BundleID) throws -> CatalogApp {
        guard case .object(var members) = value else {
            throw StoreError(.invalidRequest, "The app's document must be an object.")
        }
        try checkFixed("bundleID", bundleID.rawValue, members)
        members["bundleID"] = .string(bundleID.rawValue)
        let app = try read(.object(members), "apps[0].")
        guard app.products.isEmpty else {
            throw StoreError(.invalidRequest, "The app's document must not have products; create them one by one.")
        }
        return app
    }

    /// Reads a subscription group.
    /// - Throws: ``StoreError`` `invalid_request` that names the wrong key.
    static func group(_ value: JSONValue) throws -> CatalogSubscriptionGroup {
        let app: JSONValue = .object([
            "bundleID": .string("com.example.app"), "subscriptionGroups": .array([value]),
        ])
        guard let group = try read(app, "apps[0].subscriptionGroups[0].").groups.first else {
            throw StoreError(.invalidRequest, "The document describes no group.")
        }
        return group
    }

    /// Replaces keys of an object. Null removes a key.
    static func replacing(_ value: JSONValue, with changes: JSONValue) throws -> JSONValue {
        guard case .object(var members) = value, case .object(let new) = changes else {
            throw StoreError(.invalidRequest, "“changes” must be an object of keys and their new values.")
        }
        for (key, value) in new { members[key] = value == .null ? nil : value }
        return .object(members)
    }

    // MARK: Reading back

    /// The problems with which a start would refuse the rows of a product and of its texts; a line for each.
    static func problems(of product: CatalogProduct, in bundleID: BundleID) -> [String] {
        problems(of: product.productID.rawValue) { () throws(CatalogError) in
            let row = stored(product, of: bundleID)
            _ = try CornerstoreCatalogFile.read(Array(row.utf8), file: "database")
            _ = try readTexts(stored(product.localizations))
        }
    }

    /// The problems with which a start would refuse an app's row; a line for each.
    static func problems(of app: CatalogApp) -> [String] {
        problems(of: app.bundleID.rawValue) { () throws(CatalogError) in
            _ = try CornerstoreCatalogFile.read(Array(stored(app).utf8), file: "database")
        }
    }

    /// The lines begin with the subject and the key, because the lines of a row are those of no file.
    private static func problems(of subject: String, _ read: () throws(CatalogError) -> Void) -> [String] {
        do {
            try read()
            return []
        } catch {
            return error.problems.map { problem in
                let key = ["apps[0].", "products[0].", "subscriptionGroups[0].subscriptions[0]."].reduce(
                    problem.keyPath
                ) { $0.hasPrefix($1) ? String($0.dropFirst($1.count)) : $0 }
                return [subject, key, problem.message].filter { !$0.isEmpty }.joined(separator: ": ")
            }
        }
    }

    // MARK: Reading

    /// Reads an app. `prefix` is the part of paths that the caller did not write.
    private static func read(_ app: JSONValue, _ prefix: String) throws -> CatalogApp {
        let document: JSONValue = .object([
            "cornerstore-catalog": .number(String(CornerstoreCatalogFile.version)), "apps": .array([app]),
        ])
        let text = YAMLText.text(of: document, order: CornerstoreCatalogFile.order)
        do {
            guard let app = try CornerstoreCatalogFile.read(Array(text.utf8), file: "document").apps.first else {
                throw StoreError(.invalidRequest, "The document describes no app.")
            }
            return app
        } catch let error as CatalogError {
            let problems = error.problems.prefix(5).map { problem in
                let path = problem.keyPath.replacing(prefix, with: "", maxReplacements: 1)
                    .replacing("products[0].", with: "", maxReplacements: 1)
                return path.isEmpty ? problem.message : "\(path): \(problem.message)"
            }
            throw StoreError(.invalidRequest, problems.joined(separator: "; ") + ".")
        }
    }

    private static let unreadable = StoreError(
        .internalError, "The database has a managed product or app that this program cannot read.")
}

extension CatalogSettings {
    /// The settings of an app without a file.
    static let usual = CatalogSettings(
        identifier: nil, version: .usual, storefront: nil, locale: nil, applicationInternalID: nil, unknown: [:])
}
