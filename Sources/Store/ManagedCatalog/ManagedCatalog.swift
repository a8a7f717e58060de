import Database
import StoreWire
import Synchronization

/// The apps whose catalog the store manages: the operator creates and changes their products here instead of in a
/// file. All changes are in the database with their history.
public final class ManagedCatalog: Sendable {
    /// The largest history page.
    public static let page = 200
    /// The author in the history of a change that names none.
    public static let usualAuthor = "operator"
    /// The most products that an app can have had, with deleted ones.
    static let mostProducts = 100_000

    private struct State {
        var apps: [BundleID: ManagedApp] = [:]
        var checklist: [ManagedChecklistItem] = []
    }

    let database: Database
    let production: Store
    let library: ContentLibrary?
    private let registry: AppRegistry
    private let catalogs: StoreCatalogs
    private let files: [CatalogFile]
    private let didRegister: @Sendable () throws -> Void
    private let state = Mutex(State())
    /// Makes one change at a time. A change also waits until other processes have heard of it.
    private let changes = SerialTasks()
    /// Reads and takes in one part of the database at a time, so that an older part never replaces a newer one. Waits
    /// for the database alone.
    private let loads = SerialTasks()

    private init(
        _ database: Database, _ production: Store, _ library: ContentLibrary?, _ registry: AppRegistry,
        _ catalogs: StoreCatalogs, _ files: [CatalogFile], _ didRegister: @escaping @Sendable () throws -> Void
    ) {
        self.database = database
        self.production = production
        self.library = library
        self.registry = registry
        self.catalogs = catalogs
        self.files = files
        self.didRegister = didRegister
    }

    /// Reads the managed apps and adds them to the stores' catalogs.
    /// - Parameters:
    ///   - catalogs: the catalogs of both stores, with the apps of the files.
    ///   - production: the store whose sales are checked and whose clock dates the changes.
    ///   - files: the catalog files, to name the one that has an app.
    ///   - didRegister: called when an app got its number and shared secret.
    /// - Throws: ``CatalogError`` when a file describes a managed app; ``DatabaseError``.
    public static func open(
        _ databases: StoreDatabases, apps registry: AppRegistry, catalogs: StoreCatalogs, content: ContentLibrary?,
        production: Store, files: [CatalogFile], didRegister: @escaping @Sendable () throws -> Void = {}
    ) async throws -> ManagedCatalog {
        let catalog = ManagedCatalog(databases.apps, production, content, registry, catalogs, files, didRegister)
        try await catalog.load()
        try catalogs.check(catalogs.files, in: files)
        content?.listen { [weak catalog] part in try await catalog?.contentDidChange(in: part) }
        return catalog
    }

    private func load() async throws {
        let (apps, checklist) = try await database.read { connection in
            let apps = try ManagedRows.bundleIDs(connection).compactMap { try Self.whole($0, connection) }
            return (apps, try ManagedRows.checklist(connection))
        }
        state.withLock { state in
            state.apps = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
            state.checklist = checklist
            publish(state)
        }
    }

    /// Reads again what a process has changed.
    /// - Throws: ``DatabaseError``; ``StoreError`` `unknown_app` when the database does not have the app.
    func reload(_ part: ManagedPart) async throws {
        switch part {
        case .everything: try await reload(nil)
        case .checklist: _ = try await refreshChecklist()
        case .app(let bundleID): try await reload(bundleID)
        case .products(let productIDs, let bundleID):
            // The app's other products have been read, unless everything is about to be read again.
            guard manages(bundleID) else { return try await reload(bundleID) }
            _ = try await refresh(productIDs, of: bundleID)
        }
    }

    /// Reads again what another process may have changed.
    /// - Parameter bundleID: the app; nil for all apps and the checklist.
    /// - Throws: ``DatabaseError``.
    func reload(_ bundleID: BundleID?) async throws {
        guard let bundleID else { return try await loads.run { [self] in try await load() } }
        try await loads.run { [self] in
            let app = try await database.read { try Self.whole(bundleID, $0) }
            state.withLock { state in
                state.apps[bundleID] = app
                publish(state)
            }
        }
    }

    private static func whole(_ bundleID: BundleID, _ connection: Connection) throws -> ManagedApp? {
        var app = try ManagedRows.app(bundleID, connection)
        app?.products = try ManagedRows.products(of: bundleID, nil, connection)
        return app
    }

    /// Gives the stores the catalogs with the managed apps.
    private func publish(_ state: State) {
        catalogs.replaceManaged(
            with: ManagedShelf(apps: state.apps, isClosed: state.checklist.contains(where: \.isMissing)))
    }

    // MARK: Reading

    /// All apps in the order of their bundle ids.
    public var apps: [ManagedApp] { state.withLock { $0.apps.values.sorted { $0.bundleID < $1.bundleID } } }

    /// The checklist of agreement, tax and bank details.
    public var checklist: [ManagedChecklistItem] { state.withLock { $0.checklist } }

    /// An app.
    /// - Throws: ``StoreError`` `unknown_app`.
    public func app(_ bundleID: BundleID) throws -> ManagedApp {
        guard let app = state.withLock({ $0.apps[bundleID] }) else { throw Self.unknown(bundleID) }
        return app
    }

    /// Whether the store manages the app.
    public func manages(_ bundleID: BundleID) -> Bool { state.withLock { $0.apps[bundleID] != nil } }

    /// A product of an app.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`.
    public func product(_ productID: ProductID, of bundleID: BundleID) throws -> ManagedProduct {
        guard let product = try app(bundleID).product(productID) else { throw Self.unknown(productID, of: bundleID) }
        return product
    }

    /// The changes of an app, newest first.
    /// - Parameters:
    ///   - productID: the product; nil for all changes of the app.
    ///   - before: the number of the change before which the list begins; nil for the newest.
    ///   - limit: 1 to ``page``.
    /// - Throws: ``StoreError`` `unknown_app`; ``DatabaseError``.
    public func history(
        of bundleID: BundleID, _ productID: ProductID?, before: Int64?, limit: Int
    ) async throws -> [ManagedChange] {
        _ = try app(bundleID)
        return try await database.read {
            try ManagedRows.changes(
                of: bundleID, productID, before: before, limit: min(max(limit, 1), Self.page), $0)
        }
    }

    // MARK: Apps

    /// Registers an app. Its products can be created from then on.
    /// - Throws: ``StoreError`` `invalid_request`, `wrong_state` when the app is registered or a file describes it;
    ///   ``DatabaseError``.
    public func register(
        _ bundleID: BundleID, name: String?, sellsInAppPurchases: Bool, by author: String
    ) async throws -> ManagedApp {
        try Self.check(author)
        try checkIsFree(bundleID)
        var value: [String: JSONValue] = [:]
        if let name { value["name"] = .string(name) }
        let frame = try ManagedDocument.app(.object(value), bundleID)
        return try await register(frame, sellsInAppPurchases: sellsInAppPurchases, by: author)
    }

    private func register(
        _ frame: CatalogApp, sellsInAppPurchases: Bool, by author: String
    ) async throws -> ManagedApp {
        let now = now
        let app = ManagedApp(
            frame: frame, revision: 1, sellsInAppPurchases: sellsInAppPurchases, review: .automatic, createdAt: now,
            products: [])
        return try await changes.run { [self] in
            try await registry.register([frame.bundleID], at: now)
            try await database.write { connection in
                guard try ManagedRows.insert(app, connection) else { throw Self.registered(frame.bundleID) }
                try ManagedRows.record(
                    [Self.appChange("register", nil, app, at: now, by: author)], of: app.bundleID, connection)
                try Self.announce(.app(app.bundleID), connection)
            }
            try await reload(app.bundleID)
            try didRegister()
            return app
        }
    }

    /// Changes an app.
    /// - Parameters:
    ///   - revision: the app's revision that the change is about.
    ///   - keys: keys of the app in a YAML catalog and their new values; null removes a key.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `invalid_request`; ``DatabaseError``.
    public func changeApp(
        _ bundleID: BundleID, revision: Int64, sellsInAppPurchases: Bool?, review: ManagedReview?, keys: JSONValue?,
        by author: String
    ) async throws -> ManagedApp {
        try await changeFrame(bundleID, revision, "change", by: author) { app, _ in
            if let sellsInAppPurchases { app.sellsInAppPurchases = sellsInAppPurchases }
            if let review { app.review = review }
            guard let keys else { return }
            if case .object(let members) = keys, members["subscriptionGroups"] != nil {
                throw StoreError(.invalidRequest, "Change subscription groups one by one.")
            }
            let value = try ManagedDocument.replacing(ManagedDocument.value(of: app.frame), with: keys)
            app.frame = try ManagedDocument.app(value, bundleID)
        }
    }

    /// Creates or replaces a subscription group.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `invalid_request`; ``DatabaseError``.
    public func setGroup(
        _ groupID: SubscriptionGroupID, of bundleID: BundleID, revision: Int64, name: String, localizations: JSONValue?,
        by author: String
    ) async throws -> ManagedApp {
        try await changeFrame(bundleID, revision, "group", by: author) { app, _ in
            var value: [String: JSONValue] = ["id": .string(groupID.rawValue), "name": .string(name)]
            value["localizations"] = localizations
            var group = try ManagedDocument.group(.object(value))
            var groups = app.frame.groups
            if let index = groups.firstIndex(where: { $0.id == groupID }) {
                group.unknown = groups[index].unknown
                groups[index] = group
            } else {
                groups.append(group)
            }
            guard groups.count <= CatalogLimits.list else {
                throw StoreError(.invalidRequest, "An app has at most \(CatalogLimits.list) subscription groups.")
            }
            app.frame = app.frame.with(groups)
        }
    }

    /// Deletes a subscription group that has no products.
    /// - Throws: ``StaleRevision``; ``StoreError`` `unknown_app`, `invalid_request`, `wrong_state`; ``DatabaseError``.
    public func deleteGroup(
        _ groupID: SubscriptionGroupID, of bundleID: BundleID, revision: Int64, by author: String
    ) async throws -> ManagedApp {
        try await changeFrame(bundleID, revision, "group", by: author) { app, connection in
            guard app.frame.group(groupID) != nil else {
                throw StoreError(.invalidRequest, "\(bundleID) has no group \(groupID.rawValue.prefix(255)).")
            }
            let products = try ManagedRows.products(of: bundleID, nil, connection)
            if let user = products.first(where: { $0.base.subscription?.groupID == groupID }) {
                throw StoreError(
                    .wrongState, "The group \(groupID) has the product \(user.productID). Delete its products first.")
            }
            app.frame = app.frame.with(app.frame.groups.filter { $0.id != groupID })
        }
    }

    private func changeFrame(
        _ bundleID: BundleID, _ revision: Int64, _ kind: String, by author: String,
        _ change: @escaping @Sendable (inout ManagedApp, Connection) throws -> Void
    ) async throws -> ManagedApp {
        try Self.check(author)
        let now = now
        return try await changes.run { [self] in
            let products = try app(bundleID).products
            try await database.write { connection in
                guard let before = try ManagedRows.app(bundleID, connection) else { throw Self.unknown(bundleID) }
                var known = before
                known.products = products
                guard before.revision == revision else { throw StaleRevision(app: known, owner: known) }
                var after = before
                try change(&after, connection)
                guard after != before else { return }
                guard try ManagedRows.update(after, connection) else { throw StaleRevision(app: known, owner: known) }
                try ManagedRows.record(
                    [Self.appChange(kind, before, after, at: now, by: author)], of: bundleID, connection)
                try Self.announce(.products([], of: bundleID), connection)
            }
            return try await refresh([], of: bundleID)
        }
    }

    // MARK: The checklist

    /// Changes an item of the checklist. Nil keeps the old value.
    /// - Throws: ``StoreError`` `invalid_request`; ``DatabaseError``.
    public func changeChecklist(
        _ name: ManagedChecklistItem.Name, isRequired: Bool?, isDone: Bool?, by author: String
    ) async throws -> [ManagedChecklistItem] {
        try Self.check(author)
        let now = now
        return try await changes.run { [self] in
            try await database.write { connection in
                var items = try ManagedRows.checklist(connection)
                guard let index = items.firstIndex(where: { $0.name == name }) else { return }
                if let isRequired { items[index].isRequired = isRequired }
                if let isDone, isDone != (items[index].done != nil) {
                    items[index].done = isDone ? .init(date: now, author: author) : nil
                }
                try ManagedRows.save(items[index], connection)
                try Self.announce(.checklist, connection)
            }
            return try await refreshChecklist()
        }
    }

    // MARK: Parts of changes

    /// Production's time in milliseconds since 1970, which dates the changes.
    var now: Int64 { production.clock.milliseconds }

    /// Changes products of an app in one transaction, and gives the stores the new catalog.
    /// - Parameters:
    ///   - productIDs: the products that `change` may change or create.
    ///   - change: changes the rows. It gets the app without its products.
    /// - Returns: the app with all products.
    func changeProducts(
        _ productIDs: [ProductID], of bundleID: BundleID, by author: String,
        _ change: @escaping @Sendable (Connection, ManagedApp) throws -> Void
    ) async throws -> ManagedApp {
        try Self.check(author)
        return try await changes.run { [self] in
            _ = try app(bundleID)
            try await database.write { connection in
                guard let frame = try ManagedRows.app(bundleID, connection) else { throw Self.unknown(bundleID) }
                try change(connection, frame)
                try Self.announce(.products(productIDs, of: bundleID), connection)
            }
            return try await refresh(productIDs, of: bundleID)
        }
    }

    /// Registers apps and creates or changes their products from a file, as one change.
    func importing<T: Sendable>(
        _ bundleIDs: [BundleID], at now: Int64, _ change: @escaping @Sendable (Connection) throws -> T
    ) async throws -> T {
        try await changes.run { [self] in
            try await registry.register(bundleIDs, at: now)
            let result = try await database.write { connection -> T in
                let result = try change(connection)
                for bundleID in bundleIDs { try Self.announce(.app(bundleID), connection) }
                return result
            }
            for bundleID in bundleIDs { try await reload(bundleID) }
            try didRegister()
            return result
        }
    }

    /// Tells the processes what a change is about.
    private static func announce(_ part: ManagedPart, _ connection: Connection) throws {
        try connection.announce("managed", part.detail)
    }

    /// Reads an app without its products and the changed products again.
    private func refresh(_ productIDs: [ProductID], of bundleID: BundleID) async throws -> ManagedApp {
        try await loads.run { [self] in
            let (frame, read) = try await database.read { connection -> (ManagedApp?, [ManagedProduct]) in
                let products = try productIDs.flatMap { try ManagedRows.products(of: bundleID, $0, connection) }
                return (try ManagedRows.app(bundleID, connection), products)
            }
            guard var new = frame else { throw Self.unknown(bundleID) }
            var known = try app(bundleID)
            let products = known.products
            let asked = Set(productIDs)
            known.products = products.filter { asked.contains($0.productID) }
            new.products = read.sorted { $0.place < $1.place }
            // A process hears its own changes, too, and need not make the catalogs anew for them.
            let isKnown = new == known
            new.products =
                isKnown
                ? products
                : (products.filter { !asked.contains($0.productID) } + read).sorted { $0.place < $1.place }
            if !isKnown { take(new) }
            return new
        }
    }

    /// Reads the checklist again.
    private func refreshChecklist() async throws -> [ManagedChecklistItem] {
        try await loads.run { [self] in
            let checklist = try await database.read { try ManagedRows.checklist($0) }
            state.withLock { state in
                state.checklist = checklist
                publish(state)
            }
            return checklist
        }
    }

    private func take(_ app: ManagedApp) {
        state.withLock { state in
            state.apps[app.bundleID] = app
            publish(state)
        }
    }

    /// Reads the states of the hosted content of some products again.
    private func contentDidChange(in part: ManagedPart) async throws {
        try await loads.run { [self] in
            switch part {
            case .everything: for app in apps { try await readContent(of: app, nil) }
            case .checklist: break
            case .app(let bundleID): if manages(bundleID) { try await readContent(of: app(bundleID), nil) }
            case .products(let productIDs, let bundleID):
                if manages(bundleID) { try await readContent(of: app(bundleID), productIDs) }
            }
        }
    }

    /// Reads the states of an app's hosted content again.
    /// - Parameter productIDs: the products; nil for all.
    private func readContent(of app: ManagedApp, _ productIDs: [ProductID]?) async throws {
        let ids: [ProductID?] = productIDs ?? [nil]
        let read = try await database.read { connection in
            try ids.flatMap { try HostedProduct.all(bundleID: app.bundleID, productID: $0, connection) }
        }
        let hosted = Dictionary(
            read.filter(\.isHosted).map { ($0.product.productID, $0) }, uniquingKeysWith: { first, _ in first })
        let asked = productIDs.map(Set.init)
        var (changed, hasChanged) = (app, false)
        for index in app.products.indices where asked?.contains(app.products[index].productID) ?? true {
            let content = hosted[app.products[index].productID]
            guard content != app.products[index].content else { continue }
            changed.products[index].content = content
            hasChanged = true
        }
        if hasChanged { take(changed) }
    }

    /// Checks that no file describes the app and that it is not registered.
    func checkIsFree(_ bundleID: BundleID) throws {
        guard BundleIDOrigin.isBundleID(bundleID.rawValue) else {
            throw StoreError(
                .invalidRequest,
                "A bundle id must be explicit, such as com.example.app: 1 to 155 letters, digits, hyphens, periods and underscores."
            )
        }
        guard !manages(bundleID) else { throw Self.registered(bundleID) }
        try checkIsInNoFile(bundleID)
    }

    /// Checks that no catalog file describes the app.
    func checkIsInNoFile(_ bundleID: BundleID) throws {
        guard catalogs.files.app(bundleID) != nil else { return }
        let file = CatalogFile.describing(bundleID, in: files) ?? "A catalog file"
        throw StoreError(
            .wrongState,
            "\(file) describes \(bundleID), so the store cannot manage it. Remove the app from the file first; "
                + "“cornerstore catalog import” takes its products in.")
    }

    /// Checks the name of a change's author.
    static func check(_ author: String) throws {
        guard (1...100).contains(author.utf8.count), !author.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw StoreError(.invalidRequest, "“by” must be a name of at most 100 bytes, on one line.")
        }
    }

    private static func appChange(
        _ kind: String, _ before: ManagedApp?, _ after: ManagedApp, at now: Int64, by author: String
    ) -> ManagedChange {
        ManagedChange(
            date: now, author: author, kind: kind, before: before?.historyText, after: after.historyText, note: nil)
    }

    static func unknown(_ bundleID: BundleID) -> StoreError {
        StoreError(
            .unknownApp,
            "The store does not manage an app \(bundleID.rawValue.prefix(255)). Register it with “cornerstore app register”."
        )
    }

    static func unknown(_ productID: ProductID, of bundleID: BundleID) -> StoreError {
        StoreError(.productNotAvailable, "\(bundleID) has no managed product \(productID.rawValue.prefix(255)).")
    }

    private static func registered(_ bundleID: BundleID) -> StoreError {
        StoreError(.wrongState, "The app \(bundleID) is registered already.")
    }
}

extension ManagedApp {
    /// The app without its products, for the history.
    var historyText: String {
        "inAppPurchase: \(sellsInAppPurchases)\nreview: \(review.rawValue)\n" + ManagedDocument.text(of: frame)
    }
}

extension CatalogApp {
    /// The app with other groups.
    func with(_ groups: [CatalogSubscriptionGroup]) -> CatalogApp {
        CatalogApp(
            bundleID: bundleID, name: name, products: products, groups: groups, settings: settings, unknown: unknown)
    }
}
