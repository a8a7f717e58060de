import Database
import StoreWire

/// A match of the operator's search.
public enum SearchHit: Sendable {
    /// A row of the ledger with the identifier or the user name.
    case row(LedgerRow)
    /// An account with the identifier, or an address that begins with the text.
    case account(Account)
    /// A product with the identifier, or whose reference name begins with the text.
    case product(CatalogProduct, CatalogApp)
    /// An app with the bundle identifier or the number, or whose name begins with the text.
    case app(CatalogApp)
}

extension Store {
    /// The longest text to search for, in bytes: an e-mail address.
    static let longestSearch = 254
    /// The most accounts that begin with the text, the most apps and products, and the most transactions with a user
    /// name.
    static let mostFound = 20

    /// Finds exact identifiers of transactions, orders and accounts first, then apps and products with the identifier
    /// or a name that begins with the text in any case, then e-mail addresses that begin with it, then the newest
    /// transactions with this application user name, among the last 20,000.
    /// - Throws: ``StoreError`` `invalid_request` for an empty or too long text; ``DatabaseError``.
    public func search(_ text: String) async throws -> [SearchHit] {
        guard (1...Self.longestSearch).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw StoreError(.invalidRequest, "Search for 1 to \(Self.longestSearch) bytes of text.")
        }
        var hits: [SearchHit] = []
        if let transactionID = TransactionID(text) ?? OrderID(text)?.transactionID {
            do { hits.append(.row(try await ledgerEntry(transactionID).row)) } catch is StoreError {}
        }
        if let account = try await accounts.account(AccountID(text)) { hits.append(.account(account)) }
        hits += inCatalog(text)
        let starting = try await accounts.list(AccountQuery(start: text, limit: Self.mostFound))
        hits += starting.rows.map { .account($0.account) }
        var byName = LedgerQuery(limit: Self.mostFound)
        byName.applicationUsername = text
        hits += try await ledger(byName).rows.map { .row($0) }
        return hits
    }

    private func inCatalog(_ text: String) -> [SearchHit] {
        let (bundleID, productID, start) = (BundleID(text), ProductID(text), text.lowercased())
        var (exact, named): ([SearchHit], [SearchHit]) = ([], [])
        for app in catalog.value.apps {
            if app.bundleID == bundleID || apps[app.bundleID].map({ String($0.appID) }) == text {
                exact.append(.app(app))
            } else if app.name?.lowercased().hasPrefix(start) == true {
                named.append(.app(app))
            }
            let product = app.product(productID) ?? app.products.first { String($0.itemID) == text }
            if let product { exact.append(.product(product, app)) }
            for other in app.products
            where named.count < Self.mostFound && other.productID != product?.productID
                && other.referenceName?.lowercased().hasPrefix(start) == true
            {
                named.append(.product(other, app))
            }
        }
        return Array(exact.prefix(Self.mostFound) + named.prefix(Self.mostFound))
    }

    /// The products that an account owns permanently, at most 1,000.
    /// - Throws: ``DatabaseError``.
    public func ownerships(of account: Account) async throws -> [Ownership] {
        try await database.read { try Ownership.all(of: account.accountID, limit: Self.mostRelated, $0) }
    }
}
