import Database
import StoreWire

extension ManagedCatalog {
    /// The effect of an import.
    public struct Import: Sendable {
        /// The apps of the file, as they are now.
        public var apps: [ManagedApp] = []
        /// The products that are new.
        public var created: [ProductID] = []
        /// The products that were changed.
        public var changed: [ProductID] = []
        /// Remarks, such as parts of the file that were left out.
        public var notes: [String] = []
    }

    /// Takes in the apps and products of a catalog file, all of them or none. An app that is not managed yet is
    /// registered; products that the app has already are changed; products that the file lacks, and what its format
    /// cannot say, stay as they are. Each row is read back, because a row that cannot be read would keep the store from
    /// starting.
    /// - Parameters:
    ///   - isYAML: whether the text is in our own format.
    ///   - bundleID: the app's bundle id; required for a `.storekit` file, nil for YAML.
    ///   - isApproved: whether new products are approved at once.
    /// - Throws: ``RefusedCatalog`` with the file's problems; ``StoreError`` `invalid_request`, `wrong_state`;
    ///   ``DatabaseError``.
    public func importFile(
        _ text: String, isYAML: Bool, bundleID: BundleID?, isApproved: Bool, by author: String
    ) async throws -> Import {
        try Self.check(author)
        let (apps, hasItems) = try Self.read(text, isYAML: isYAML, bundleID: bundleID)
        guard !apps.isEmpty else { throw StoreError(.invalidRequest, "The file describes no app.") }
        for app in apps {
            if !manages(app.bundleID) { try checkIsFree(app.bundleID) }
            try await checkHosting(by: app)
        }
        let now = now
        var result = try await importing(apps.map(\.bundleID), at: now) { connection -> Import in
            var effect = Import()
            for app in apps {
                let (created, changed) = try Self.importApp(
                    app, isYAML: isYAML, isApproved: isApproved, at: now, by: author, connection)
                effect.created += created
                effect.changed += changed
            }
            return effect
        }
        if hasItems { result.notes.append("left out: the items of the storefront") }
        for app in apps {
            let imported = try self.app(app.bundleID)
            result.apps.append(imported)
            for product in imported.products where app.product(product.productID) != nil && !product.needs.isEmpty {
                result.notes.append("\(product.productID) needs \(product.needs.joined(separator: ", "))")
            }
        }
        try await library?.refresh()
        return result
    }

    /// Checks that the products that are hosted in a file are hosted already, or were never sold without content. Scans
    /// the ledger at most once.
    private func checkHosting(by app: CatalogApp) async throws {
        let hosted = app.products.filter(\.isHosted).map { ContentProduct($0.productID, of: app.bundleID) }
        guard !hosted.isEmpty else { return }
        let new = try await database.read { connection in
            try hosted.filter { try !HostedProduct.isHosted($0, connection) }
        }
        guard !new.isEmpty else { return }
        let sold = try await production.soldProducts(of: app.bundleID)
        if let product = new.first(where: { sold.contains($0.productID) }) { throw Self.wasSold(product.productID) }
    }

    private static func read(
        _ text: String, isYAML: Bool, bundleID: BundleID?
    ) throws -> (apps: [CatalogApp], hasItems: Bool) {
        do {
            let bytes = Array(text.utf8)
            if isYAML {
                guard bundleID == nil else {
                    throw StoreError(.invalidRequest, "A YAML catalog has its own bundle ids; do not give one for it.")
                }
                return try CornerstoreCatalogFile.readApps(bytes, file: "catalog.yaml")
            }
            guard let bundleID else {
                throw StoreError(.invalidRequest, "A .storekit file has no bundle id; name the app's (“bundleId”).")
            }
            let contents = try StoreKitConfigurationFile.read(bytes, file: "catalog.storekit", bundleID: bundleID)
            return (contents.apps, false)
        } catch let error as CatalogError {
            throw RefusedCatalog(problems: error.problems.map(\.description))
        }
    }

    private static func importApp(
        _ app: CatalogApp, isYAML: Bool, isApproved: Bool, at now: Int64, by author: String, _ connection: Connection
    ) throws -> (created: [ProductID], changed: [ProductID]) {
        let managed = try importFrame(app, at: now, by: author, connection)
        let known = Dictionary(
            try ManagedRows.products(of: app.bundleID, nil, connection).map { ($0.productID, $0) },
            uniquingKeysWith: { first, _ in first })
        var extent = try ManagedRows.extent(of: app.bundleID, connection)
        var (created, changed) = ([ProductID](), [ProductID]())
        var changes: [ManagedChange] = []
        var problems: [String] = []
        for described in app.products {
            if let before = known[described.productID] {
                guard
                    before.base.kind == described.kind,
                    before.base.subscription?.groupID == described.subscription?.groupID
                else {
                    throw StoreError(
                        .wrongState,
                        "\(described.productID) has another type or group in the file than in the store, where both are fixed. Nothing "
                            + "of the file was taken in.")
                }
                var new = isYAML ? described : described.keepingWhatStoreKitOmits(of: before.product)
                // A file turns hosting on only.
                new.isHosted = described.isHosted || before.content != nil
                if try change(before, to: new, isPriced: true, of: managed, at: now, by: author, connection) {
                    changed.append(described.productID)
                    problems += ManagedDocument.problems(of: new, in: app.bundleID)
                }
                continue
            }
            let isComplete =
                !described.isHosted
                && ManagedProduct(
                    described, isPriced: true, place: 0, stage: .preparing, at: now
                ).needs.isEmpty
            let product = ManagedProduct(
                described, isPriced: true, place: extent.last + 1,
                stage: isApproved && isComplete ? .approved : .preparing, at: now)
            try insert(product, of: app.bundleID, after: extent.count, connection)
            if described.isHosted {
                try host(product, of: app.bundleID, in: .app(app.bundleID), at: now, connection)
            }
            extent = (extent.count + 1, extent.last + 1)
            created.append(described.productID)
            problems += ManagedDocument.problems(of: described, in: app.bundleID)
            changes.append(
                ManagedChange(
                    productID: described.productID, date: now, author: author, kind: "import",
                    after: ManagedDocument.text(of: described, isPriced: true),
                    note: product.newest.stage == .approved ? "approved without review" : nil))
        }
        try refuse(problems)
        try ManagedRows.record(changes, of: app.bundleID, connection)
        return (created, changed)
    }

    /// Ends the transaction when there are problems.
    private static func refuse(_ problems: [String]) throws {
        guard problems.isEmpty else { throw RefusedCatalog(problems: Array(problems.prefix(CatalogLimits.problems))) }
    }

    /// Registers the app, or changes what it has beside products.
    private static func importFrame(
        _ app: CatalogApp, at now: Int64, by author: String, _ connection: Connection
    ) throws -> ManagedApp {
        let frame = app.selling([])
        guard let before = try ManagedRows.app(app.bundleID, connection) else {
            try refuse(ManagedDocument.problems(of: frame))
            let new = ManagedApp(
                frame: frame, revision: 1, sellsInAppPurchases: true, review: .automatic, createdAt: now, products: [])
            guard try ManagedRows.insert(new, connection) else { throw unknown(app.bundleID) }
            try ManagedRows.record(
                [
                    ManagedChange(
                        date: now, author: author, kind: "import", after: new.historyText)
                ], of: app.bundleID, connection)
            return new
        }
        var after = before
        after.frame = frame
        after.frame.name = frame.name ?? before.frame.name
        // Groups that the file lacks stay, since their products do.
        let kept = before.frame.groups.filter { group in !frame.groups.contains { $0.id == group.id } }
        after.frame = after.frame.with(frame.groups + kept)
        guard after != before else { return before }
        try refuse(ManagedDocument.problems(of: after.frame))
        guard try ManagedRows.update(after, connection) else { throw unknown(app.bundleID) }
        try ManagedRows.record(
            [
                ManagedChange(
                    date: now, author: author, kind: "import", before: before.historyText, after: after.historyText)
            ], of: app.bundleID, connection)
        after.revision += 1
        return after
    }

    /// An app as the text of a catalog file, with the newest texts. States and history stay in the store.
    /// - Returns: the text, and a line for each part that it leaves out.
    /// - Throws: ``StoreError`` `unknown_app`, `wrong_state` when the app is larger than a file can be.
    public func export(_ bundleID: BundleID, asYAML: Bool) throws -> (text: String, omitted: [String]) {
        let managed = try app(bundleID)
        var (priced, omitted) = ([CatalogProduct](), [String]())
        for product in managed.products {
            if product.isPriced || product.base.kind == .freeSubscription {
                priced.append(product.product)
            } else {
                omitted.append("\(product.productID): it has no price yet; the product is not in the file")
            }
        }
        guard priced.count <= CatalogLimits.products else {
            throw Self.tooLarge(bundleID, "\(CatalogLimits.products) products", "\(priced.count)")
        }
        let app = managed.app(with: priced)
        let text: String
        if asYAML {
            text = CornerstoreCatalogFile.text(of: [app])
        } else {
            let (written, unsaid) = StoreKitConfigurationFile.text(of: app)
            text = written
            omitted += unsaid
        }
        let limit = asYAML ? CatalogLimits.yamlFile : CatalogLimits.storeKitFile
        guard text.utf8.count <= limit else {
            throw Self.tooLarge(bundleID, "\(limit) bytes", "\(text.utf8.count)")
        }
        return (text, omitted)
    }

    /// The error of an app whose file no store would read.
    private static func tooLarge(_ bundleID: BundleID, _ limit: String, _ count: String) -> StoreError {
        StoreError(
            .wrongState,
            "\(bundleID) is too large for a catalog file, which has at most \(limit); this one would have \(count). "
                + "List its products instead.")
    }
}
