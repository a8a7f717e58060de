import CornerstoreEncoding
import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// The longest identifier of a transaction or an app.
    private static let longestID = 100
    private static let idCharacters = ASCIICharacters.alphanumeric.adding("-_.")

    /// Returns the redemptions and ledger entries of a store's transaction. Looks up the keys that the purchase may
    /// have, however many redemptions there are.
    /// - Parameters:
    ///   - transactionID: the transaction.
    ///   - original: the original transaction of a restored purchase or a subscription; nil when it is the same.
    ///   - bundleID: the app; nil for all apps that have products.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func transaction(
        _ transactionID: String, original: String? = nil, in bundleID: BundleID? = nil
    ) async throws -> TransactionReport {
        let original = original ?? transactionID
        for text in [transactionID, original, bundleID?.rawValue ?? "-"] {
            guard (1...Self.longestID).contains(text.utf8.count),
                text.utf8.allSatisfy({ Self.idCharacters.contains($0) })
            else {
                throw MerchantError(
                    .invalidRequest,
                    "Invalid identifier of a transaction or app. Expected 1 to \(Self.longestID) letters, digits, “-”, “_” and “.”."
                )
            }
        }
        let bundles =
            if let bundleID { [bundleID] } else {
                Set(try await products(at: now()).products(of: nil).map(\.bundleID)).sorted()
            }
        return try await database.read { connection in
            let scopes = try RedemptionRow.anchors(connection).flatMap { anchor in
                StoreEnvironment.allCases.flatMap { environment in
                    bundles.map { RedemptionKey.scope(anchor, environment, $0) }
                }
            }
            var report = TransactionReport(redemptions: [], entries: [])
            for scope in scopes {
                for purchase in try RedemptionRow.purchases(transactionID, original, in: scope, connection) {
                    report.redemptions.append(purchase.record)
                    report.entries += try purchase.entries(connection)
                }
            }
            report.entries.sort {
                ($0.entry.createdAt, $0.currency, $0.entry.entry) < ($1.entry.createdAt, $1.currency, $1.entry.entry)
            }
            return report
        }
    }
}

/// A redemption and what finds its credits in the ledger.
struct RedeemedPurchase {
    var record: RedemptionRecord
    /// The user who got the credits. A purchase that moved to another user leaves them behind.
    var creditedUser: UserID
    var currencies: Set<CurrencyID>

    /// The ledger entries of the purchase in the newest entries of each of its accounts.
    func entries(_ connection: Connection) throws -> [PurchaseEntry] {
        // The policy at the time of the redemption chose the account.
        let environments = Set([record.environment, .production])
        return try currencies.sorted().flatMap { currency in
            try environments.flatMap { environment in
                let account = CreditAccount(currency, in: environment)
                return try Ledger.entries(of: record.purchase, creditedUser, account.name, connection).map {
                    PurchaseEntry(userID: creditedUser, currency: currency, entry: $0)
                }
            }
        }
    }
}
