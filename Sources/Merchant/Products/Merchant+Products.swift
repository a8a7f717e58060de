import Database
import MerchantWire
import StoreWire
import Synchronization

extension Merchant {
    /// The time for which products are read from memory, in milliseconds. Lists may miss a change by another process
    /// for that long, and so may a download by evidence of a product that another process has just added or given the
    /// content item. A redemption does not miss a change of its products (``checkList(of:_:)``).
    static let productsLifetime: Int64 = 1_000

    /// Returns the products on sale in an app.
    /// - Throws: ``MerchantError`` `invalid_request`, or `not_found` for an app that is not this merchant's.
    public func productList(of bundleID: BundleID) async throws -> ProductList {
        try Self.checkName(bundleID.rawValue)
        let catalog = try await products(at: now())
        let products = catalog.products(of: bundleID)
        guard !products.isEmpty || verifier.takes(bundleID) else {
            throw MerchantError(.notFound, "This merchant has no products for the app \(bundleID).")
        }
        return ProductList(revision: catalog.revision, products: products.filter(\.isOnSale))
    }

    /// Returns all products, on sale or not.
    /// - Throws: ``DatabaseError``.
    public func allProducts() async throws -> ProductList {
        let catalog = try await reloadProducts(at: now())
        return ProductList(revision: catalog.revision, products: catalog.products(of: nil))
    }

    /// Returns a product, on sale or not, and whether it came from its app's products file; nil for an unlisted
    /// product. The next import of the file overwrites a product that came from it.
    /// - Throws: ``DatabaseError``.
    public func product(_ bundleID: BundleID, _ productID: ProductID) async throws -> (
        product: MerchantProduct, isFromFile: Bool
    )? {
        try await database.read { try Self.read(bundleID, productID, $0) }
    }

    /// Adds a product to the list or changes it. The kind cannot be changed. Earlier redemptions stay as they are.
    /// - Throws: ``MerchantError`` `invalid_request`, `too_large` when the app has as many as it may.
    public func put(_ product: MerchantProduct) async throws {
        try await edit(product.bundleID, product.productID) { _ in product }
    }

    /// Adds or changes a product as ``put(_:)`` does, starting from its current state. Concurrent changes are not lost.
    /// - Parameter make: returns the new product, given the current one; nil for a new product. It may be called more
    ///   than once.
    /// - Returns: the new product.
    /// - Throws: as ``put(_:)``, and the errors that `make` throws.
    @discardableResult
    public func edit(
        _ bundleID: BundleID, _ productID: ProductID,
        _ make: @escaping @Sendable (MerchantProduct?) throws -> MerchantProduct
    ) async throws -> MerchantProduct {
        try await change { connection in
            let old = try Self.read(bundleID, productID, connection)
            var product = try make(old?.product)
            (product.bundleID, product.productID) = (bundleID, productID)
            try product.check()
            try Self.checkKind(product, old?.product)
            let isChanged = old.map { $0.product != product || $0.isFromFile } ?? true
            if isChanged {
                try Self.write(product, isFromFile: false, connection)
                try Self.checkCount(of: bundleID, connection)
            }
            return (product, isChanged)
        }
    }

    /// Removes a product from the list. Its purchases can no longer be redeemed. To stop selling a product, set
    /// `isOnSale` to false instead.
    /// - Throws: ``MerchantError`` `not_found`.
    public func deleteProduct(_ bundleID: BundleID, _ productID: ProductID) async throws {
        let isGone = try await change { connection in
            let isGone =
                try connection.execute(
                    "DELETE FROM products WHERE bundle_id = $1 AND product_id = $2",
                    [bundleID.rawValue, productID.rawValue]) == 1
            return (isGone, isGone)
        }
        guard isGone else { throw MerchantError(.notFound, "The product does not exist.") }
    }

    /// Adds the products of a file to the list or changes them. A product that came from the app's file before and is
    /// no longer in it is taken off sale; its purchases can still be redeemed. A product that was added by ``put(_:)``
    /// and is not in the file is not changed.
    /// - Returns: whether anything changed.
    /// - Throws: ``MerchantError``: `invalid_request` when the file changes the kind of a product, `too_large` when the
    ///   app has more products on sale than it may; ``DatabaseError``.
    @discardableResult
    public func importProducts(from file: ProductsFile) async throws -> Bool {
        try await change { connection in
            let old = try Self.read(connection).filter { $0.bundleID == file.bundleID }
            let known = Dictionary(uniqueKeysWithValues: old.map { ($0.productID, $0) })
            let fromFile = Set(
                try connection.query(
                    "SELECT product_id FROM products WHERE bundle_id = $1 AND is_from_file", [file.bundleID.rawValue]
                ).map { ProductID(try $0.string(0)) })
            let new = Set(file.products.map(\.productID))
            var changed = false
            for product in file.products { try Self.checkKind(product, known[product.productID]) }
            for product in file.products
            where known[product.productID] != product || !fromFile.contains(product.productID) {
                try Self.write(product, isFromFile: true, connection)
                changed = true
            }
            for var product in old
            where fromFile.contains(product.productID) && !new.contains(product.productID) && product.isOnSale {
                product.isOnSale = false
                try Self.write(product, isFromFile: true, connection)
                changed = true
            }
            if changed { try Self.checkCount(of: file.bundleID, connection) }
            return (changed, changed)
        }
    }

    /// Apps receive the products on sale in one list, whose length is limited.
    private static func checkCount(of bundleID: BundleID, _ connection: Connection) throws {
        let count = try connection.queryOne(
            "SELECT count(*) FROM products WHERE bundle_id = $1 AND is_on_sale", [bundleID.rawValue])
        guard try count?.int64(0) ?? 0 <= MerchantLimits.products else {
            throw MerchantError(.tooLarge, "An app can have at most \(MerchantLimits.products) products on sale.")
        }
    }

    /// A purchase's redemption key depends on its product's kind. To change a kind, the operator has to delete the
    /// product first.
    private static func checkKind(_ product: MerchantProduct, _ known: MerchantProduct?) throws {
        guard let known, known.kind != product.kind else { return }
        throw MerchantError(
            .invalidRequest,
            "Product \(product.productID.rawValue) has the kind \(known.kind.rawValue), which cannot be changed to "
                + "\(product.kind.rawValue). If the list was wrong, delete the product and add it again. Purchases that were redeemed "
                + "before are not granted again.")
    }

    // MARK: Memory

    /// Returns the products, at most ``productsLifetime`` old.
    func products(at now: Int64) async throws -> ProductCatalog {
        if let known = productsInMemory(at: now) { return known }
        return try await reloadProducts(at: now)
    }

    /// Returns the products in memory; nil when they are older than ``productsLifetime``.
    func productsInMemory(at now: Int64) -> ProductCatalog? {
        guard let known = catalog.withLock({ $0 }), now < known.loadedAt + Self.productsLifetime,
            now >= known.loadedAt
        else { return nil }
        return known.catalog
    }

    /// Reads the products from the database.
    @discardableResult
    func reloadProducts(at now: Int64) async throws -> ProductCatalog {
        let known = catalog.withLock { $0?.catalog }
        let loaded = try await database.read { connection -> ProductCatalog in
            let revision = try Self.revision(connection)
            if let known, known.revision == revision { return known }
            return try ProductCatalog(
                revision: revision, try Self.read(connection), kinds: try ProductKinds.read(connection))
        }
        catalog.withLock { kept in
            // Another task may have loaded a newer revision meanwhile. The database may also have an older one than
            // before: it was restored, or a standby that lagged was promoted.
            if let kept, kept.catalog.revision > loaded.revision, kept.catalog.revision != known?.revision { return }
            kept = LoadedCatalog(catalog: loaded, loadedAt: now)
        }
        return loaded
    }

    /// Checks inside a transaction that purchases were planned by the product list that the database has. The key of a
    /// purchase depends on the kind of its product, so that a plan by an older list could redeem a purchase again.
    /// - Parameter items: what one product list gave.
    /// - Throws: ``ProductsChanged``; ``DatabaseError``.
    static func checkList(of items: [RedemptionItem], _ connection: Connection) throws {
        for case .plan(let plan) in items {
            guard try revision(connection) == plan.revision else { throw ProductsChanged() }
            return
        }
    }

    private static func revision(_ connection: Connection) throws -> Int64 {
        // The table has one row. By its number, SQLite would look it up in an index first.
        try connection.queryOne("SELECT revision FROM product_revision")?.int64(0) ?? 0
    }

    /// Changes products, and raises the revision when `body` reports a change: to the current time in milliseconds, or
    /// by 1. When a database loses changes, later changes therefore get other revisions than the lost ones had.
    private func change<T: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> (result: T, isChange: Bool)
    ) async throws -> T {
        let now = now()
        let result = try await database.write { connection in
            let (result, isChange) = try body(connection)
            if isChange {
                try connection.execute(
                    """
                    UPDATE product_revision SET revision = CASE WHEN revision < $1 THEN $2 ELSE revision + 1 END
                    WHERE id = 1
                    """, [now, now])
            }
            return result
        }
        try await reloadProducts(at: self.now())
        return result
    }

    private static let columns = "bundle_id, product_id, kind, grants, is_on_sale, shelf"

    private static func read(_ connection: Connection) throws -> [MerchantProduct] {
        try connection.query("SELECT \(columns) FROM products ORDER BY bundle_id, product_id")
            .map { try MerchantProduct($0) }
    }

    private static func read(
        _ bundleID: BundleID, _ productID: ProductID, _ connection: Connection
    ) throws -> (product: MerchantProduct, isFromFile: Bool)? {
        try connection.queryOne(
            "SELECT \(columns), is_from_file FROM products WHERE bundle_id = $1 AND product_id = $2",
            [bundleID.rawValue, productID.rawValue]
        ).map { (try MerchantProduct($0), try $0.bool(6)) }
    }

    private static func write(
        _ product: MerchantProduct, isFromFile: Bool, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO products (bundle_id, product_id, kind, grants, is_on_sale, shelf, is_from_file)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (bundle_id, product_id) DO UPDATE SET
                kind = excluded.kind, grants = excluded.grants, is_on_sale = excluded.is_on_sale,
                shelf = excluded.shelf, is_from_file = excluded.is_from_file
            """,
            [
                product.bundleID.rawValue, product.productID.rawValue, product.kind.rawValue,
                try ProductCatalog.json(product.grants), product.isOnSale, product.shelf, isFromFile,
            ])
        try ProductKinds.add(product.kind, of: product.productID, connection)
    }
}

extension MerchantProduct {
    /// Reads a product from a row of ``columns``.
    fileprivate init(_ row: Row) throws {
        guard let kind = ProductKind(rawValue: try row.string(2)) else {
            throw MerchantError(.internalError, "The product list contains a kind that this version does not know.")
        }
        self.init(
            bundleID: BundleID(try row.string(0)), productID: ProductID(try row.string(1)), kind: kind,
            grants: try ProductCatalog.grants(try row.string(3)), isOnSale: try row.bool(4),
            shelf: try row.optionalString(5))
    }
}

/// The product list has changed since purchases were planned by it (``Merchant/withPlans(of:_:at:_:)``).
struct ProductsChanged: Error {}

/// The products in memory and the time at which they were read.
struct LoadedCatalog: Sendable {
    var catalog: ProductCatalog
    var loadedAt: Int64
}

/// The kinds that products have had on the list or in redemptions.
enum ProductKinds {
    static func add(_ kind: ProductKind, of productID: ProductID, _ connection: Connection) throws {
        try connection.execute(
            "INSERT INTO product_kinds (product_id, kind) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            [productID.rawValue, kind.rawValue])
    }

    fileprivate static func read(_ connection: Connection) throws -> [ProductID: Set<ProductKind>] {
        var kinds: [ProductID: Set<ProductKind>] = [:]
        for row in try connection.query("SELECT product_id, kind FROM product_kinds") {
            guard let kind = ProductKind(rawValue: try row.string(1)) else { continue }
            kinds[ProductID(try row.string(0)), default: []].insert(kind)
        }
        return kinds
    }
}
