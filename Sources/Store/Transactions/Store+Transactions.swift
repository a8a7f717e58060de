import Database
import StoreWire

extension Store {
    /// Returns a page of the account's unfinished transactions in an app, oldest first.
    /// - Throws: ``DatabaseError``.
    public func unfinishedTransactions(
        of account: Account, in bundleID: BundleID, after: TransactionID?
    ) async throws -> UnfinishedTransactionsResponse {
        try await settleSubscriptions(of: account.accountID)
        let page = try await database.read { connection in
            try Transactions.unfinished(
                of: account.accountID, in: bundleID, after: after, limit: StoreLimits.page + 1, connection)
        }
        let shown = Array(page.prefix(StoreLimits.page))
        return UnfinishedTransactionsResponse(
            transactions: await deliverable(shown),
            next: page.count > StoreLimits.page ? shown.last?.transactionID : nil)
    }

    /// Describes transactions for a device. Refunded ones have no content.
    func deliverable(_ transactions: [Transaction]) async -> [TransactionDescription] {
        var described = await described(transactions.map(\.description))
        for (index, transaction) in transactions.enumerated() where transaction.revokedAt != nil {
            described[index].content = nil
        }
        return described
    }

    /// Finishes a transaction, bought or restored. Finishing it again has no effect.
    /// - Throws: ``StoreError`` `unknown_transaction`; ``DatabaseError``.
    public func finish(_ transactionID: TransactionID, of account: Account) async throws {
        let now = clock.milliseconds
        let known = try await database.write { connection in
            try Transactions.finish(transactionID, of: account.accountID, at: now, connection)
                || RestoredTransactions.finish(transactionID, of: account.accountID, at: now, connection)
        }
        guard known else { throw StoreError(.unknownTransaction, "This account has no such transaction.") }
        changed(.transactions)
    }

    /// Describes products in the account's storefront, or in the app's default storefront when nobody is signed in.
    /// - Throws: ``StoreError`` `unknown_app`, `invalid_request`, or `internal_error` when the account's storefront is
    ///   unknown.
    public func products(_ request: ProductsRequest, for account: Account?) async throws -> ProductsResponse {
        try await products(request, in: try account.map { try self.storefront(of: $0) })
    }

    /// Describes products in a storefront; nil means the app's default storefront.
    /// - Throws: ``StoreError`` `unknown_app` or `invalid_request`.
    public func products(_ request: ProductsRequest, in storefront: Storefront?) async throws -> ProductsResponse {
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
                "The catalog has no app with the bundle identifier \(request.bundleID.rawValue.prefix(255)).")
        }
        let storefront = storefront ?? app.storefront
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

    /// The apps and products with these numbers. Unknown numbers and products that the storefront does not sell are
    /// left out.
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

    /// Describes an account for its devices.
    /// - Throws: ``StoreError`` when the account's storefront is unknown.
    public func description(of account: Account) throws -> AccountDescription {
        let storefront = try storefront(of: account)
        return AccountDescription(
            accountID: account.accountID, email: account.email,
            storefront: StorefrontDescription(countryCode: storefront.countryCode, identifier: storefront.identifier),
            canMakePayments: account.paymentsAllowed)
    }
}
