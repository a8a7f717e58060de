import Database
import StoreWire

/// Reading and finishing what is in the ledger.
enum Transactions {
    // Put together once, not for every receipt.
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

    /// The highest id given out, below which no new one may fall.
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

    /// What the device has not finished, oldest first, from after an id on.
    static func unfinished(
        of accountID: AccountID, in bundleID: BundleID, after: TransactionID?, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            unfinishedText,
            [accountID.rawValue, bundleID.rawValue, after?.rawValue ?? 0, limit]
        ).map { try Transaction($0) }
    }

    /// What never leaves the receipt: everything that is not a consumable, oldest first.
    static func lasting(of accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws
        -> [Transaction]
    {
        try connection.query(
            lastingText,
            [accountID.rawValue, bundleID.rawValue]
        ).map { try Transaction($0) }
    }

    /// The contents of a receipt, oldest first: everything that lasts, then the newest 1,000 unfinished consumables. A
    /// product that is owned once appears once, as it was last delivered.
    ///
    /// Of more unfinished consumables the oldest are left out, so that what was just bought is always there.
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

    /// Unfinished consumables in one receipt. A device finishes its purchases long before there are so many.
    static let mostConsumablesInReceipt = 1000

    /// Whose transactions these are: the account of the first that is known in the app.
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

    /// The last of an account's transactions in a subscription group; nil when there is none.
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

    /// Finishes a transaction once; true also when it was finished before.
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

    /// A page of the whole ledger for the operator, newest first.
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

    /// One account's newest, from one of the two indexes that hold all of its transactions between them.
    private static func ofAccount(_ finished: String) -> String {
        """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND finished_at \(finished) AND transaction_id < $2
            AND (CAST($3 AS TEXT) IS NULL OR bundle_id = $3)
        ORDER BY transaction_id DESC LIMIT $4
        """
    }
}
