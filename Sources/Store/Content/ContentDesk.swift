import Database
import Foundation
import StoreWire

/// Turns hosting on and off for the developer, with the checks against the catalog and past sales that App Store
/// Connect makes.
public struct ContentDesk: Sendable {
    /// The library whose hosting and review rules this desk changes.
    public let library: ContentLibrary
    private let production: Store
    private let catalog: CurrentCatalog
    private let managed: ManagedCatalog?

    /// Creates a desk.
    /// - Parameters:
    ///   - production: the store whose sales are checked and whose clock dates the changes.
    ///   - catalog: every app and product, also products that are not sold yet.
    ///   - managed: the managed catalog, which changes the hosting of its own products; nil for none.
    public init(
        _ library: ContentLibrary, production: Store, catalog: CurrentCatalog, managed: ManagedCatalog? = nil
    ) {
        self.library = library
        self.production = production
        self.catalog = catalog
        self.managed = managed
    }

    /// Production's time in milliseconds since 1970. The dates of states use it.
    public var now: Int64 { production.clock.milliseconds }

    /// Turns hosting on for a non-consumable that was never sold in production, or off for a product whose content was
    /// never live.
    /// - Parameter author: the person who asks, for the history of a managed product.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`, `wrong_state`, `stale_revision` when another
    ///   editor changes a managed product at the same moment; ``DatabaseError``.
    public func setHosting(
        _ isOn: Bool, of product: ContentProduct, by author: String = ManagedCatalog.usualAuthor
    ) async throws {
        if let managed, managed.manages(product.bundleID) {
            return try await managed.setHosting(isOn, of: product, by: author)
        }
        if isOn { try await checkCanBeHosted(product, try catalogProduct(product).kind) }
        try await library.setHosting(isOn, of: product, at: now)
    }

    /// Sets the review rule for later submissions of a product, or of a whole app when `productID` is nil.
    /// - Throws: ``StoreError`` `unknown_app`, `product_not_available`; ``DatabaseError``.
    public func setReview(_ review: ContentReview, of bundleID: BundleID, _ productID: ProductID?) async throws {
        if let productID {
            _ = try catalogProduct(ContentProduct(productID, of: bundleID))
        } else {
            _ = try app(bundleID)
        }
        try await library.setReview(review, of: bundleID, productID)
    }

    /// Turns hosting on for each product that the catalog marks as hosted, unless it was turned on or off before. Also
    /// deletes expired uploads.
    /// - Returns: for each product that cannot be hosted, a sentence with the reason.
    /// - Throws: ``DatabaseError``.
    public func takeIn(_ catalog: Catalog) async throws -> [String] {
        try await library.expireUploads(at: now)
        var (hosted, refusals): ([ContentProduct], [String]) = ([], [])
        for app in catalog.apps {
            for described in app.products where described.isHosted {
                let product = ContentProduct(described.productID, of: app.bundleID)
                guard try await library.isDecided(product) == nil else { continue }
                do {
                    try await checkCanBeHosted(product, described.kind)
                    hosted.append(product)
                } catch let error as StoreError {
                    refusals.append("\(app.bundleID): \(error.detail)")
                }
            }
        }
        try await library.host(hosted, at: now)
        return refusals
    }

    private func app(_ bundleID: BundleID) throws -> CatalogApp {
        guard let app = catalog.value.app(bundleID) else {
            throw StoreError(
                .unknownApp, "The catalog has no app with the bundle identifier \(bundleID.rawValue.prefix(255)).")
        }
        return app
    }

    private func catalogProduct(_ product: ContentProduct) throws -> CatalogProduct {
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
                "\(product.productID) has been sold. Hosting is only for new products: earlier customers would have nothing to download."
            )
        }
    }
}

extension Store {
    /// Whether the ledger has a transaction for the product. This scans the ledger; do not use it in a device's
    /// request.
    func hasSold(_ product: ContentProduct) async throws -> Bool {
        try await database.read { try Transactions.have(product.productID, in: product.bundleID, $0) }
    }

    /// The products of an app that the ledger has transactions for. This scans the ledger once; do not use it in a
    /// device's request.
    func soldProducts(of bundleID: BundleID) async throws -> Set<ProductID> {
        try await database.read { try Transactions.soldProducts(of: bundleID, $0) }
    }
}
