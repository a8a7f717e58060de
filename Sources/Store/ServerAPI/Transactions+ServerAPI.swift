import Database
import StoreWire

extension Transactions {
    /// The account's refunded purchases in an app, without those that a family shared.
    private static let areRefunded =
        "account_id = $1 AND bundle_id = $2 AND revoked_at IS NOT NULL AND shared_from IS NULL"

    /// An account's refunded purchases in an app after a place, each with its own place, in the order in which the
    /// store recorded the refunds (``HistoryEnds``). That is the order of their dates, unless the clock was set back or
    /// a decision was recorded late; a caller who keeps a place misses nothing then.
    static func refunded(
        of accountID: AccountID, in bundleID: BundleID, after: PageRevision?, limit: Int, _ connection: Connection
    ) throws -> [(place: PageRevision, transaction: Transaction)] {
        try connection.query(
            """
            SELECT \(Transaction.columns), COALESCE(changed, transaction_id) AS number FROM transactions
            WHERE \(areRefunded) AND (COALESCE(changed, transaction_id), transaction_id) > ($3, $4)
            ORDER BY number, transaction_id LIMIT $5
            """, [accountID.rawValue, bundleID.rawValue, after?.order ?? -1, after?.transactionID ?? 0, limit]
        ).map { row in
            let transaction = try Transaction(row)
            let number = try row.int64(Transaction.columnCount)
            return (PageRevision(order: number, transactionID: transaction.transactionID.rawValue), transaction)
        }
    }

    /// An account's last refunded purchases in an app, in the order of the refunds' dates.
    static func lastRefunded(
        of accountID: AccountID, in bundleID: BundleID, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions WHERE \(areRefunded)
            ORDER BY revoked_at DESC, transaction_id DESC LIMIT $3
            """, [accountID.rawValue, bundleID.rawValue, limit]
        ).map { try Transaction($0) }.reversed()
    }

    /// An account's first transaction in an app; nil without one.
    static func first(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> TransactionID? {
        // Each part is found by an index of its own.
        try ["NULL", "NOT NULL"].compactMap { finished in
            try connection.queryOne(
                """
                SELECT transaction_id FROM transactions
                WHERE account_id = $1 AND bundle_id = $2 AND finished_at IS \(finished)
                ORDER BY transaction_id LIMIT 1
                """, [accountID.rawValue, bundleID.rawValue]
            ).map { TransactionID(rawValue: try $0.int64(0)) }
        }.min()
    }

    /// The apps in which an account has transactions.
    static func apps(of accountID: AccountID, _ connection: Connection) throws -> [BundleID] {
        try connection.query(
            "SELECT DISTINCT bundle_id FROM transactions WHERE account_id = $1", [accountID.rawValue]
        ).map { BundleID(try $0.string(0)) }
    }

    /// Replaces the user name of all transactions of a purchase. Rows that have it already stay as they are.
    static func setUsername(
        _ name: String, ofPurchase first: Transaction, _ recorder: Recorder, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE transactions SET application_username = $4, changed = $5
            WHERE account_id = $1 AND bundle_id = $2 AND original_transaction_id = $3 AND shared_from IS NULL
                AND (application_username IS NULL OR application_username <> $4)
                AND \(first.kind == .consumable ? "transaction_id = $3" : "kind <> 'consumable'")
            """,
            [
                first.accountID.rawValue, first.bundleID.rawValue, first.originalTransactionID.rawValue, name,
                try recorder.change(of: first.accountID, connection),
            ])
    }
}
