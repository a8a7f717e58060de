import Database
import StoreWire

extension Store {
    /// Returns the news for an account's device in an app: refunds, promoted purchases and price increases.
    /// - Parameters:
    ///   - cursor: the cursor of the last answer; nil for a device that never asked, which receives all refunds.
    ///   - languages: the languages for the products' names, best first.
    /// - Throws: ``StoreError`` when the account's storefront is unknown; ``DatabaseError``.
    public func notices(
        for account: Account, in bundleID: BundleID, after cursor: Int64?, languages: [String]
    ) async throws -> NoticesResponse {
        let now = clock.milliseconds
        let (lost, promotions, increases) = try await database.read { connection in
            (
                try Revocations.lost(
                    by: account.accountID, in: bundleID, after: cursor ?? 0, now: now, connection),
                try Promotions.waiting(
                    for: account.accountID, in: bundleID, made: Self.creationOfPromotions(at: now), connection),
                try PriceIncreases.all(of: account.accountID, connection)
            )
        }
        let open = increases.filter { $0.bundleID == bundleID && $0.answer == nil }
        return NoticesResponse(
            account: try description(of: account), revokedProductIDs: lost.productIDs, cursor: lost.last,
            hasMore: lost.hasMore, promotions: promotions,
            priceIncreases: try open.compactMap { try description(of: $0, account, languages) })
    }

    /// The description of a price increase; nil when the product is no longer in the catalog.
    private func description(
        of increase: PriceIncrease, _ account: Account, _ languages: [String]
    ) throws -> PriceIncreaseDescription? {
        let storefront = try storefront(of: account)
        guard let app = catalog.value.app(increase.bundleID), let product = app.product(increase.productID),
            let shown = app.description(of: product, languages: languages, storefront: storefront)
        else { return nil }
        // Both prices are in the currency of the storefront in which the increase was ordered. The account may have
        // moved to another storefront since.
        let priceLocale = CatalogApp.priceLocale(
            languages: languages, storefront: storefront, currency: increase.newPrice.currency)
        return PriceIncreaseDescription(
            productID: increase.productID, displayName: shown.displayName, oldPrice: increase.oldPrice,
            newPrice: increase.newPrice, priceLocale: priceLocale)
    }

    /// Returns the customer's state for the payment sheet: the account, and the requested products that it owns.
    /// - Throws: ``StoreError`` when the account's storefront is unknown; ``DatabaseError``.
    public func customerState(_ request: ProductsRequest, for account: Account) async throws -> CustomerState {
        let productIDs = Array(request.productIDs.prefix(StoreLimits.productsInOneRequest))
        let owned = try await database.read { connection in
            try productIDs.filter {
                try Ownership.find(account.accountID, request.bundleID, $0, connection) != nil
            }
        }
        return CustomerState(account: try description(of: account), ownedProductIDs: owned)
    }
}
