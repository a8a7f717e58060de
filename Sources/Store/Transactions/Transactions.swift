import Database
import StoreWire

/// Queries of the ledger's transactions.
enum Transactions {
    // The statements' texts, built once and not for every receipt.
    private static let unfinishedText = """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND bundle_id = $2 AND transaction_id > $3 AND finished_at IS NULL
        ORDER BY transaction_id LIMIT $4
        """
    private static let newestConsumablesText = """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND bundle_id = $2 AND finished_at IS NULL AND kind = 'consumable'
        ORDER BY transaction_id DESC LIMIT $3
        """
    private static let lastingText = """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' ORDER BY transaction_id
        """

    /// The highest identifier in the ledger. New identifiers must be higher.
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(transaction_id) FROM transactions", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    static func find(_ transactionID: TransactionID, _ connection: Connection) throws -> Transaction? {
        try connection.queryOne(
            "SELECT \(Transaction.columns) FROM transactions WHERE transaction_id = $1", [transactionID.rawValue]
        ).map { try Transaction($0) }
    }

    static func find(_ transactionID: TransactionID, of accountID: AccountID, _ connection: Connection) throws
        -> Transaction?
    {
        try connection.queryOne(
            "SELECT \(Transaction.columns) FROM transactions WHERE account_id = $1 AND transaction_id = $2",
            [accountID.rawValue, transactionID.rawValue]
        ).map { try Transaction($0) }
    }

    /// The unfinished transactions after an identifier, oldest first.
    static func unfinished(
        of accountID: AccountID, in bundleID: BundleID, after: TransactionID?, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            unfinishedText,
            [accountID.rawValue, bundleID.rawValue, after?.rawValue ?? 0, limit]
        ).map { try Transaction($0) }
    }

    /// The transactions that stay in the receipt: all but consumables, oldest first.
    static func lasting(of accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws
        -> [Transaction]
    {
        try connection.query(
            lastingText,
            [accountID.rawValue, bundleID.rawValue]
        ).map { try Transaction($0) }
    }

    /// The transactions in a receipt: all lasting ones, then the newest 1,000 unfinished consumables, both oldest
    /// first. A product that is owned once appears once, with its last delivery.
    ///
    /// If there are more unfinished consumables, the oldest are left out, so that a new purchase is always in the
    /// receipt.
    static func inReceipt(of accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws
        -> [Transaction]
    {
        let lasting = try lasting(of: accountID, in: bundleID, connection)
        let consumables = try connection.query(
            newestConsumablesText, [accountID.rawValue, bundleID.rawValue, mostConsumablesInReceipt]
        ).map { try Transaction($0) }
        var latest: [ProductID: TransactionID] = [:]
        for transaction in lasting where transaction.kind.isOwnedOnce {
            latest[transaction.productID] = transaction.transactionID
        }
        return lasting.filter { !$0.kind.isOwnedOnce || latest[$0.productID] == $0.transactionID }
            + consumables.reversed()
    }

    /// The most unfinished consumables in a receipt. Devices usually finish their purchases long before.
    static let mostConsumablesInReceipt = 1000

    /// The account of the first of these transactions that the ledger has for the app; nil when it has none.
    static func owner(
        ofOneOf ids: [TransactionID], in bundleID: BundleID, _ connection: Connection
    ) throws -> AccountID? {
        for id in ids {
            if let row = try connection.queryOne(
                "SELECT account_id, bundle_id FROM transactions WHERE transaction_id = $1", [id.rawValue]),
                BundleID(try row.string(1)) == bundleID
            {
                return AccountID(try row.string(0))
            }
        }
        return nil
    }

    /// The account's last transaction in a subscription group; nil when there is none.
    static func last(
        of accountID: AccountID, in bundleID: BundleID, group groupID: SubscriptionGroupID, _ connection: Connection
    ) throws -> TransactionID? {
        try connection.queryOne(
            """
            SELECT max(transaction_id) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND subscription_group_id = $3
            """,
            [accountID.rawValue, bundleID.rawValue, groupID.rawValue]
        )?.optionalInt64(0).map { TransactionID(rawValue: $0) }
    }

    /// Finishes a transaction. Returns false when it does not exist, and true also when it was finished before.
    static func finish(
        _ transactionID: TransactionID, of accountID: AccountID, at milliseconds: Int64, _ connection: Connection
    ) throws -> Bool {
        let changed = try connection.execute(
            """
            UPDATE transactions SET finished_at = $3
            WHERE account_id = $1 AND transaction_id = $2 AND finished_at IS NULL
            """,
            [accountID.rawValue, transactionID.rawValue, milliseconds])
        if changed > 0 { return true }
        return try find(transactionID, of: accountID, connection) != nil
    }

    /// A page of the ledger, newest first.
    static func page(
        before: TransactionID?, bundleID: BundleID?, accountID: AccountID?, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        let before = before?.rawValue ?? Int64(1) << 53
        guard let accountID else {
            return try connection.query(
                """
                SELECT \(Transaction.columns) FROM transactions
                WHERE transaction_id < $1 AND (CAST($2 AS TEXT) IS NULL OR bundle_id = $2)
                ORDER BY transaction_id DESC LIMIT $3
                """, [before, bundleID?.rawValue, limit]
            ).map { try Transaction($0) }
        }
        return try [unfinishedOfAccount, finishedOfAccount].flatMap { text in
            try connection.query(text, [accountID.rawValue, before, bundleID?.rawValue, limit])
        }.map { try Transaction($0) }.sorted { $0.transactionID > $1.transactionID }.prefix(limit).map { $0 }
    }

    private static let unfinishedOfAccount = ofAccount("IS NULL")
    private static let finishedOfAccount = ofAccount("IS NOT NULL")

    /// The query for an account's newest transactions in one of two indexes. Together the indexes hold all its
    /// transactions.
    private static func ofAccount(_ finished: String) -> String {
        """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND finished_at \(finished) AND transaction_id < $2
            AND (CAST($3 AS TEXT) IS NULL OR bundle_id = $3)
        ORDER BY transaction_id DESC LIMIT $4
        """
    }
}
