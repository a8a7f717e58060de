import Database
import StoreWire

extension Store {
    /// A page of what the account's devices have not finished in an app, oldest first.
    /// - Throws: ``DatabaseError``.
    public func unfinishedTransactions(
        of account: Account, in bundleID: BundleID, after: TransactionID?
    ) async throws -> UnfinishedTransactionsResponse {
        let page = try await database.read { connection in
            try Transactions.unfinished(
                of: account.accountID, in: bundleID, after: after, limit: StoreLimits.page + 1, connection)
        }
        let shown = page.prefix(StoreLimits.page)
        var described = await described(shown.map(\.description))
        for (index, transaction) in shown.enumerated() where transaction.revokedAt != nil {
            described[index].content = nil
        }
        return UnfinishedTransactionsResponse(
            transactions: described,
            next: page.count > StoreLimits.page ? shown.last?.transactionID : nil)
    }

    /// Finishes a transaction, bought or restored; finishing it again does nothing.
    /// - Throws: ``StoreError`` `unknown_transaction`; ``DatabaseError``.
    public func finish(_ transactionID: TransactionID, of account: Account) async throws {
        let now = clock.milliseconds
        let known = try await database.write { connection in
            try Transactions.finish(transactionID, of: account.accountID, at: now, connection)
                || RestoredTransactions.finish(transactionID, of: account.accountID, at: now, connection)
        }
        guard known else { throw StoreError(.unknownTransaction, "This account has no such transaction.") }
    }

    /// A page of the ledger for the operator, newest first.
    /// - Throws: ``DatabaseError``.
    public func transactions(
        before: TransactionID?, bundleID: BundleID?, accountID: AccountID?, limit: Int
    ) async throws -> [Transaction] {
        try await database.read { connection in
            try Transactions.page(
                before: before, bundleID: bundleID, accountID: accountID, limit: min(max(limit, 1), 1000), connection)
        }
    }

    /// What the store tells of products in an account's storefront (or the app's own when nobody is signed in).
    /// - Throws: ``StoreError`` `unknown_app` or `invalid_request`.
    public func products(_ request: ProductsRequest, for account: Account?) async throws -> ProductsResponse {
        guard request.productIDs.count <= StoreLimits.productsInOneRequest, request.languages.count <= 32,
            (request.itemIDs?.count ?? 0) <= StoreLimits.itemsInOneRequest
        else {
            throw StoreError(
                .invalidRequest,
                "Ask for at most \(StoreLimits.productsInOneRequest) products, \(StoreLimits.itemsInOneRequest) items and 32 languages at once."
            )
        }
        guard let app = catalog.value.app(request.bundleID) else {
            throw StoreError(
                .unknownApp,
                "No app of the bundle identifier \(request.bundleID.rawValue.prefix(255)) is in the catalog.")
        }
        let storefront = try account.map { try self.storefront(of: $0) } ?? app.storefront
        var products: [ProductDescription] = []
        var invalid: [ProductID] = []
        var seen: Set<ProductID> = []
        for productID in request.productIDs where seen.insert(productID).inserted {
            if let product = app.product(productID),
                let description = app.description(of: product, languages: request.languages, storefront: storefront)
            {
                products.append(description)
            } else {
                invalid.append(productID)
            }
        }
        return ProductsResponse(
            products: await described(products, of: request.bundleID), invalidProductIDs: invalid,
            storefront: StorefrontDescription(countryCode: storefront.countryCode, identifier: storefront.identifier),
            items: request.itemIDs.map { items($0, languages: request.languages, storefront: storefront) })
    }

    /// The pages of apps and products by their numbers; what is unknown, or not sold in the storefront, is left out.
    private func items(_ itemIDs: [Int64], languages: [String], storefront: Storefront) -> [StoreItem] {
        let catalog = catalog.value
        return itemIDs.compactMap { itemID in
            guard let (app, product) = catalog.item(itemID, appID: { apps[$0]?.appID }) else { return nil }
            guard let product else {
                return StoreItem(itemID: itemID, bundleID: app.bundleID, appName: app.name, product: nil)
            }
            return app.description(of: product, languages: languages, storefront: storefront).map {
                StoreItem(itemID: itemID, bundleID: app.bundleID, appName: app.name, product: $0)
            }
        }
    }

    /// As the device is told of its account.
    /// - Throws: ``StoreError`` when the account's storefront is unknown.
    public func description(of account: Account) throws -> AccountDescription {
        let storefront = try storefront(of: account)
        return AccountDescription(
            accountID: account.accountID, email: account.email,
            storefront: StorefrontDescription(countryCode: storefront.countryCode, identifier: storefront.identifier),
            canMakePayments: account.paymentsAllowed)
    }
}
