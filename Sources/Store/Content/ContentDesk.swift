import Database
import Foundation
import StoreWire

/// Where the developer turns hosting on: what App Store Connect asks of the catalog and of production before.
public struct ContentDesk: Sendable {
    /// The library whose hosting and review rules this desk changes.
    public let library: ContentLibrary
    private let production: Store
    private let catalog: CurrentCatalog

    /// - Parameter production: whose sales and whose clock count.
    public init(_ library: ContentLibrary, production: Store, catalog: CurrentCatalog) {
        self.library = library
        self.production = production
        self.catalog = catalog
    }

    /// Production's time, by which states are dated.
    public var now: Int64 { production.clock.milliseconds }

    /// Turns hosting on for a non-consumable that production has not sold, or off for one whose content was never live.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, `wrong_state`; ``DatabaseError``.
    public func setHosting(_ isOn: Bool, of product: ContentProduct) async throws {
        if isOn { try await checkCanBeHosted(product, try found(product).kind) }
        try await library.setHosting(isOn, of: product, at: now)
    }

    /// Says who decides about what is submitted from now on, for a product or all of an app.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`; ``DatabaseError``.
    public func setReview(_ review: ContentReview, of bundleID: BundleID, _ productID: ProductID?) async throws {
        if let productID { _ = try found(ContentProduct(productID, of: bundleID)) } else { _ = try app(bundleID) }
        try await library.setReview(review, of: bundleID, productID)
    }

    /// Turns hosting on for what the catalog says is hosted, unless somebody decided about it before. Forgets old uploads, too.
    /// - Returns: why it stays off, for each product that cannot be hosted.
    /// - Throws: ``DatabaseError``.
    public func takeIn(_ catalog: Catalog) async throws -> [String] {
        try await library.expireUploads(at: now)
        var refusals: [String] = []
        for app in catalog.apps {
            for described in app.products where described.isHosted {
                let product = ContentProduct(described.productID, of: app.bundleID)
                guard try await library.isDecided(product) == nil else { continue }
                do {
                    try await checkCanBeHosted(product, described.kind)
                    try await library.setHosting(true, of: product, at: now)
                } catch let error as StoreError {
                    refusals.append("\(app.bundleID): \(error.detail)")
                }
            }
        }
        return refusals
    }

    private func app(_ bundleID: BundleID) throws -> CatalogApp {
        guard let app = catalog.value.app(bundleID) else {
            throw StoreError(
                .unknownApp, "No app of the bundle identifier \(bundleID.rawValue.prefix(255)) is in the catalog.")
        }
        return app
    }

    private func found(_ product: ContentProduct) throws -> CatalogProduct {
        guard let found = try app(product.bundleID).product(product.productID) else {
            throw StoreError(
                .productNotAvailable,
                "\(product.bundleID) has no product \(product.productID.rawValue.prefix(255)) in the catalog.")
        }
        return found
    }

    private func checkCanBeHosted(_ product: ContentProduct, _ kind: ProductKind) async throws {
        guard kind == .nonConsumable else {
            throw StoreError(
                .wrongState, "\(product.productID) is not a non-consumable; only those have hosted content.")
        }
        if try await library.isDecided(product) == true { return }
        guard !(try await production.hasSold(product)) else {
            throw StoreError(
                .wrongState,
                "\(product.productID) was sold already. Hosting is for new products: its customers would have nothing to download."
            )
        }
    }
}

extension Store {
    /// Whether anybody ever got the product. Looks through the ledger, so it is nothing for a device's request.
    func hasSold(_ product: ContentProduct) async throws -> Bool {
        try await database.read { connection in
            try connection.queryOne(
                "SELECT transaction_id FROM transactions WHERE bundle_id = $1 AND product_id = $2 LIMIT 1",
                [product.bundleID.rawValue, product.productID.rawValue]) != nil
        }
    }
}
