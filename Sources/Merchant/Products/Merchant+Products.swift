import Database
import MerchantWire
import StoreWire
import Synchronization

extension Merchant {
    /// How long products are taken from memory, in milliseconds: for so long a change by another process may go unseen.
    static let productsLifetime: Int64 = 1_000

    /// What is on sale in an app.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func productList(of bundleID: BundleID) async throws -> ProductList {
        try Self.checkName(bundleID.rawValue)
        let catalog = try await products(at: now())
        return ProductList(
            revision: catalog.revision, products: catalog.products(of: bundleID).filter(\.isOnSale))
    }

    /// All products, whether on sale or not.
    public func allProducts() async throws -> ProductList {
        let catalog = try await reloadProducts(at: now())
        return ProductList(revision: catalog.revision, products: catalog.products(of: nil))
    }

    /// Puts a product on the list, or changes it, but for its kind. What was redeemed before stays as it was.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func put(_ product: MerchantProduct) async throws {
        try product.check()
        try await change { connection in
            let count = try connection.queryOne(
                "SELECT count(*) FROM products WHERE bundle_id = $1", [product.bundleID.rawValue])
            guard try count?.int64(0) ?? 0 <= MerchantLimits.products else { return nil }
            try Self.checkKind(product, try Self.read(connection))
            try Self.write(product, isFromFile: false, connection)
            return true
        }
    }

    /// Takes a product off the list. Purchases of it can no longer be redeemed; to stop selling it, put it there with `isOnSale`
    /// false instead.
    /// - Throws: ``MerchantError`` `not_found`.
    public func deleteProduct(_ bundleID: BundleID, _ productID: ProductID) async throws {
        let isGone = try await change { connection in
            try connection.execute(
                "DELETE FROM products WHERE bundle_id = $1 AND product_id = $2",
                [bundleID.rawValue, productID.rawValue]
            ) == 1
        }
        guard isGone else { throw MerchantError(.notFound, "There is no such product.") }
    }

    /// Puts the products of a file on the list. One that came from the app's file before and is not in it is no longer on sale, but can be
    /// redeemed; one that was put there by ``put(_:)`` stays as it is.
    /// - Returns: whether anything changed.
    @discardableResult
    public func takeIn(_ file: ProductsFile) async throws -> Bool {
        try await change { connection in
            let old = try Self.read(connection).filter { $0.bundleID == file.bundleID }
            let fromFile = Set(
                try connection.query(
                    "SELECT product_id FROM products WHERE bundle_id = $1 AND is_from_file", [file.bundleID.rawValue]
                ).map { ProductID(try $0.string(0)) })
            let new = Set(file.products.map(\.productID))
            var changed = false
            for product in file.products { try Self.checkKind(product, old) }
            for product in file.products where !old.contains(product) || !fromFile.contains(product.productID) {
                try Self.write(product, isFromFile: true, connection)
                changed = true
            }
            for var product in old
            where fromFile.contains(product.productID) && !new.contains(product.productID) && product.isOnSale {
                product.isOnSale = false
                try Self.write(product, isFromFile: true, connection)
                changed = true
            }
            return changed
        }
    }

    /// A purchase is known by its product's kind, too: under another kind, what was redeemed could be redeemed again.
    private static func checkKind(_ product: MerchantProduct, _ old: [MerchantProduct]) throws {
        let known = old.first { $0.bundleID == product.bundleID && $0.productID == product.productID }
        guard let known, known.kind != product.kind else { return }
        throw MerchantError(
            .invalidRequest,
            "Product \(product.productID.rawValue) is of kind \(known.kind.rawValue), and what was bought of it would be granted again as "
                + "\(product.kind.rawValue). Sell that under another identifier; or delete the product first, if nobody has bought it."
        )
    }

    // MARK: Memory

    /// The products, not older than ``productsLifetime``.
    func products(at now: Int64) async throws -> ProductCatalog {
        if let known = productsInMemory(at: now) { return known }
        return try await reloadProducts(at: now)
    }

    /// The products, if they were read within ``productsLifetime``.
    func productsInMemory(at now: Int64) -> ProductCatalog? {
        guard let known = catalog.withLock({ $0 }), now < known.loadedAt + Self.productsLifetime,
            now >= known.loadedAt
        else { return nil }
        return known.catalog
    }

    /// The products as they stand in the database.
    @discardableResult
    func reloadProducts(at now: Int64) async throws -> ProductCatalog {
        let known = catalog.withLock { $0?.catalog }
        let loaded = try await database.read { connection -> ProductCatalog in
            let revision = try connection.queryOne("SELECT revision FROM product_revision WHERE id = 1")?.int64(0) ?? 0
            if let known, known.revision == revision { return known }
            return try ProductCatalog(revision: revision, try Self.read(connection))
        }
        catalog.withLock { kept in
            // Another may have loaded a newer one meanwhile.
            if let kept, kept.catalog.revision > loaded.revision { return }
            kept = LoadedCatalog(catalog: loaded, loadedAt: now)
        }
        return loaded
    }

    /// Changes products and counts the revision up, unless the change says that there is none.
    @discardableResult
    private func change(_ body: @escaping @Sendable (Connection) throws -> Bool?) async throws -> Bool {
        let outcome = try await database.write { connection -> Bool? in
            let changed = try body(connection)
            if changed == true {
                try connection.execute("UPDATE product_revision SET revision = revision + 1 WHERE id = 1")
            }
            return changed
        }
        guard let outcome else {
            throw MerchantError(.tooLarge, "An app has at most \(MerchantLimits.products) products.")
        }
        try await reloadProducts(at: now())
        return outcome
    }

    private static func read(_ connection: Connection) throws -> [MerchantProduct] {
        try connection.query(
            "SELECT bundle_id, product_id, kind, grants, is_on_sale, shelf FROM products ORDER BY bundle_id, product_id"
        ).map { row in
            guard let kind = ProductKind(rawValue: try row.string(2)) else {
                throw MerchantError(.internalError, "The list holds a kind of product that this program does not know.")
            }
            return MerchantProduct(
                bundleID: BundleID(try row.string(0)), productID: ProductID(try row.string(1)), kind: kind,
                grants: try ProductCatalog.grants(try row.string(3)), isOnSale: try row.bool(4),
                shelf: try row.optionalString(5))
        }
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
    }
}

/// The products in memory, and when they were read.
struct LoadedCatalog: Sendable {
    var catalog: ProductCatalog
    var loadedAt: Int64
}
