import Database
import Foundation
import StoreWire

/// The table `transactions`, which is the store's ledger.
enum Transactions {
    // The statements' texts, built once and not for every receipt.
    private static let unfinishedText = """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND bundle_id = $2 AND transaction_id > $3 AND finished_at IS NULL
        ORDER BY transaction_id LIMIT $4
        """
    private static let newestUnfinishedText = """
        SELECT \(Transaction.columns) FROM transactions
        WHERE account_id = $1 AND bundle_id = $2 AND finished_at IS NULL ORDER BY transaction_id DESC LIMIT $3
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

    /// The highest identifier in the ledger, of a transaction or of a change. New identifiers must be higher.
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        let created = try connection.queryOne("SELECT max(transaction_id) FROM transactions", [])?.optionalInt64(0)
        let changed = try connection.queryOne("SELECT max(changed) FROM transactions WHERE changed IS NOT NULL", [])?
            .optionalInt64(0)
        return [created, changed].compactMap(\.self).max().map { TransactionID(rawValue: $0) }
    }

    /// Whether the ledger has a transaction.
    static func exist(_ connection: Connection) throws -> Bool {
        try connection.queryOne("SELECT 1 FROM transactions LIMIT 1") != nil
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

    /// The newest unfinished transactions, the newest first.
    static func newestUnfinished(
        of accountID: AccountID, in bundleID: BundleID, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            newestUnfinishedText, [accountID.rawValue, bundleID.rawValue, limit]
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
    /// first. A product that is owned once appears once, with its last delivery, and once for each member of the family
    /// who shares it.
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
        for transaction in lasting where transaction.kind.isOwnedOnce && transaction.sharedFrom == nil {
            latest[transaction.productID] = transaction.transactionID
        }
        var latestShared: [TransactionID: TransactionID] = [:]
        for transaction in lasting where transaction.kind.isOwnedOnce {
            if let source = transaction.sharedFrom { latestShared[source] = transaction.transactionID }
        }
        return lasting.filter { transaction in
            guard transaction.kind.isOwnedOnce else { return true }
            let shown = transaction.sharedFrom.map { latestShared[$0] } ?? latest[transaction.productID]
            return shown == transaction.transactionID
        } + consumables.reversed()
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

    /// The account's own last transaction in a subscription group; nil when there is none.
    static func last(
        of accountID: AccountID, in bundleID: BundleID, group groupID: SubscriptionGroupID, _ connection: Connection
    ) throws -> TransactionID? {
        try connection.queryOne(
            """
            SELECT max(transaction_id) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND subscription_group_id = $3
                AND shared_from IS NULL
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

    /// A part of the ledger that one index has in the order of the identifiers. The two parts of an account together
    /// are all its transactions.
    private enum Part: CaseIterable {
        case all
        case unfinishedOfAccount
        case finishedOfAccount

        /// The condition, with the account's placeholder.
        func condition(_ account: String) -> String {
            switch self {
            case .all: ""
            case .unfinishedOfAccount: "AND account_id = \(account) AND finished_at IS NULL"
            case .finishedOfAccount: "AND account_id = \(account) AND finished_at IS NOT NULL"
            }
        }
    }

    /// The newest transactions before an identifier. A filter other than the account looks at
    /// ``LedgerQuery/mostLooked`` rows.
    static func page(_ query: LedgerQuery, _ connection: Connection) throws -> LedgerPage<Transaction> {
        guard query.includesProducts else { return LedgerPage(rows: [], next: nil) }
        let parts: [Part] = query.accountID == nil ? [.all] : [.unfinishedOfAccount, .finishedOfAccount]
        let before = query.before?.rawValue ?? Int64(1) << 53
        let account: [any SQLConvertible] = query.accountID.map { [$0.rawValue] } ?? []
        var floor: TransactionID?
        if query.isFiltered {
            for part in parts {
                let bounds: [any SQLConvertible] = [before, LedgerQuery.mostLooked / parts.count - 1]
                let lowest = try connection.queryOne(
                    """
                    SELECT transaction_id FROM transactions WHERE transaction_id < $1 \(part.condition("$3"))
                    ORDER BY transaction_id DESC LIMIT 1 OFFSET $2
                    """, bounds + account
                ).map { TransactionID(rawValue: try $0.int64(0)) }
                floor = [floor, lowest].compactMap(\.self).max()
            }
        }
        let selection: [any SQLConvertible] = [
            before, floor?.rawValue ?? 0, query.bundleID?.rawValue, query.productID?.rawValue, query.kind,
            query.from, query.until, query.applicationUsername, query.limit + 1,
        ]
        let found = try parts.flatMap { part in
            try connection.query(
                """
                SELECT \(Transaction.columns) FROM transactions
                WHERE transaction_id < $1 AND transaction_id >= $2 \(part.condition("$10"))
                    AND (CAST($3 AS TEXT) IS NULL OR bundle_id = $3) AND (CAST($4 AS TEXT) IS NULL OR product_id = $4)
                    AND (CAST($5 AS TEXT) IS NULL OR kind = $5)
                    AND (CAST($6 AS BIGINT) IS NULL OR purchase_date >= $6)
                    AND (CAST($7 AS BIGINT) IS NULL OR purchase_date < $7)
                    AND (CAST($8 AS TEXT) IS NULL OR application_username = $8) \(condition(query.state))
                ORDER BY transaction_id DESC LIMIT $9
                """, selection + account)
        }.map { try Transaction($0) }
        return LedgerPage(
            found.sorted { $0.transactionID > $1.transactionID }, limit: query.limit, floor: floor, id: \.transactionID)
    }

    private static func condition(_ state: LedgerQuery.State?) -> String {
        switch state {
        case nil: ""
        case .unfinished: "AND finished_at IS NULL AND revoked_at IS NULL"
        case .finished: "AND finished_at IS NOT NULL AND revoked_at IS NULL"
        case .refunded: "AND revoked_at IS NOT NULL"
        }
    }

    /// The transactions of the same purchase, oldest first. A consumable is alone.
    static func chain(of transaction: Transaction, limit: Int, _ connection: Connection) throws -> [Transaction] {
        guard transaction.kind != .consumable else { return [transaction] }
        return try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
            ORDER BY transaction_id LIMIT $4
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue, limit,
            ]
        ).map { try Transaction($0) }
    }

    /// Deletes transactions of an account, for a tester's cleared history.
    static func delete(_ transactions: [Transaction], _ connection: Connection) throws {
        for transaction in transactions {
            try connection.execute(
                "DELETE FROM transactions WHERE transaction_id = $1", [transaction.transactionID.rawValue])
        }
    }

    /// The account's transactions that can be restored, oldest first: one for each product that is owned once, and
    /// every period of an auto-renewable subscription. Refunded transactions cannot be restored, and unfinished ones
    /// are delivered anyway.
    static func restorable(
        by request: RestoreRequest, of accountID: AccountID, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND transaction_id > $3
                AND kind <> 'consumable' AND kind <> 'nonRenewingSubscription'
                AND (kind = 'autoRenewableSubscription' OR transaction_id = original_transaction_id)
                AND finished_at IS NOT NULL AND revoked_at IS NULL
                AND (CAST($4 AS TEXT) IS NULL OR application_username = $4)
            ORDER BY transaction_id LIMIT $5
            """,
            [
                accountID.rawValue, request.bundleID.rawValue, request.after?.rawValue ?? 0,
                request.applicationUsername, limit,
            ]
        ).map { try Transaction($0) }
    }

    /// Whether the ledger has a transaction for a product. This scans the ledger.
    static func have(_ productID: ProductID, in bundleID: BundleID, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT transaction_id FROM transactions WHERE bundle_id = $1 AND product_id = $2 LIMIT 1",
            [bundleID.rawValue, productID.rawValue]) != nil
    }

    /// The products of an app that the ledger has transactions for. This scans the ledger.
    static func soldProducts(of bundleID: BundleID, _ connection: Connection) throws -> Set<ProductID> {
        let rows = try connection.query(
            "SELECT DISTINCT product_id FROM transactions WHERE bundle_id = $1", [bundleID.rawValue])
        return Set(try rows.map { ProductID(try $0.string(0)) })
    }

    // MARK: Refunds

    /// Marks a transaction as refunded, with all deliveries of the purchase if the product is owned once. Returns false
    /// when it was marked before.
    static func revoke(
        _ transaction: Transaction, at milliseconds: Int64, reason: RevocationReason, _ recorder: Recorder,
        _ connection: Connection
    ) throws -> Bool {
        let number = try recorder.change(of: transaction.accountID, connection)
        let changed = try connection.execute(
            """
            UPDATE transactions SET revoked_at = $3, revocation_reason = $4, changed = $5
            WHERE account_id = $1 AND transaction_id = $2 AND revoked_at IS NULL
            """,
            [
                transaction.accountID.rawValue, transaction.transactionID.rawValue, milliseconds, reason.rawValue,
                number,
            ])
        guard changed == 1 else { return false }
        guard transaction.kind.isOwnedOnce else { return true }
        try connection.execute(
            """
            UPDATE transactions SET revoked_at = $4, revocation_reason = $5, changed = $6
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND revoked_at IS NULL
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue, milliseconds, reason.rawValue,
                try recorder.change(of: transaction.accountID, connection),
            ])
        return true
    }

    /// Adds an amount in milliunits to what was given back; a negative one takes it off.
    static func addRefund(_ amount: Int64, to id: TransactionID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE transactions SET refunded = refunded + $2 WHERE transaction_id = $1", [id.rawValue, amount])
    }

    /// Takes a refund back. Returns false when the transaction is not refunded.
    static func reinstate(
        _ transaction: Transaction, _ recorder: Recorder, _ connection: Connection
    ) throws -> Bool {
        let number = try recorder.change(of: transaction.accountID, connection)
        let changed = try connection.execute(
            """
            UPDATE transactions SET revoked_at = NULL, revocation_reason = NULL, changed = $3
            WHERE account_id = $1 AND transaction_id = $2 AND revoked_at IS NOT NULL
            """, [transaction.accountID.rawValue, transaction.transactionID.rawValue, number])
        guard changed == 1 else { return false }
        guard transaction.kind.isOwnedOnce else { return true }
        try connection.execute(
            """
            UPDATE transactions SET revoked_at = NULL, revocation_reason = NULL, changed = $4
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND revoked_at IS NOT NULL
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue, number,
            ])
        return true
    }

    /// A refunded transaction, with all deliveries of the purchase if the product is owned once, oldest first.
    static func revoked(with transaction: Transaction, _ connection: Connection) throws -> [Transaction] {
        guard transaction.kind.isOwnedOnce else {
            return try find(transaction.transactionID, connection).map { [$0] } ?? []
        }
        return try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND original_transaction_id = $3
                AND revoked_at IS NOT NULL
            ORDER BY transaction_id
            """,
            [
                transaction.accountID.rawValue, transaction.bundleID.rawValue,
                transaction.originalTransactionID.rawValue,
            ]
        ).map { try Transaction($0) }
    }

    /// The condition of ``Transaction/isCurrent(at:)``.
    /// - Parameter date: the place of the date among the arguments, such as `$4`.
    private static func isCurrent(at date: String) -> String {
        "revoked_at IS NULL AND is_upgraded = FALSE AND (expires_date IS NULL OR expires_date > \(date))"
    }

    /// Whether the account has a current transaction of the product, its own or one that a family shares. In a grace
    /// period, an active subscription has none.
    static func hold(
        _ productID: ProductID, _ accountID: AccountID, _ bundleID: BundleID, now: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND product_id = $3
                AND \(isCurrent(at: "$4"))
            """, [accountID.rawValue, bundleID.rawValue, productID.rawValue, now]) != nil
    }

    // MARK: Subscriptions

    /// Marks a period as replaced by a change of plan, with the shares of a family. Returns false when it was marked
    /// before or refunded.
    static func markUpgraded(
        _ period: Transaction, _ recorder: Recorder, _ connection: Connection
    ) throws -> Bool {
        for member in try receivers(of: period.transactionID, connection) {
            try connection.execute(
                """
                UPDATE transactions SET is_upgraded = TRUE, changed = $3
                WHERE shared_from = $1 AND account_id = $2 AND revoked_at IS NULL
                """, [period.transactionID.rawValue, member.rawValue, try recorder.change(of: member, connection)])
        }
        return try connection.execute(
            """
            UPDATE transactions SET is_upgraded = TRUE, changed = $2
            WHERE transaction_id = $1 AND is_upgraded = FALSE AND revoked_at IS NULL
            """, [period.transactionID.rawValue, try recorder.change(of: period.accountID, connection)]) == 1
    }

    /// Moves the end of an account's period, in milliseconds since 1970, with the shares of a family.
    static func setEnd(
        of id: TransactionID, _ accountID: AccountID, to end: Int64, _ recorder: Recorder, _ connection: Connection
    ) throws {
        try connection.execute(
            "UPDATE transactions SET expires_date = $2, changed = $3 WHERE transaction_id = $1",
            [id.rawValue, end, try recorder.change(of: accountID, connection)])
        for member in try receivers(of: id, connection) {
            try connection.execute(
                "UPDATE transactions SET expires_date = $3, changed = $4 WHERE shared_from = $1 AND account_id = $2",
                [id.rawValue, member.rawValue, end, try recorder.change(of: member, connection)])
        }
    }

    /// The current periods of all accounts, newest first.
    static func current(
        _ query: SubscriberQuery, now: Int64, _ connection: Connection
    ) throws -> LedgerPage<Transaction> {
        let before = query.before?.rawValue ?? Int64(1) << 53
        let floor = try connection.queryOne(
            """
            SELECT transaction_id FROM transactions WHERE transaction_id < $1
            ORDER BY transaction_id DESC LIMIT 1 OFFSET $2
            """, [before, LedgerQuery.mostLooked - 1]
        ).map { TransactionID(rawValue: try $0.int64(0)) }
        let selection: [any SQLConvertible] = [
            before, floor?.rawValue ?? 0, ProductKind.autoRenewableSubscription.rawValue, now, query.bundleID?.rawValue,
            query.groupID?.rawValue,
            query.productID?.rawValue, query.limit + 1,
        ]
        let found = try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE transaction_id < $1 AND transaction_id >= $2 AND kind = $3 AND \(isCurrent(at: "$4"))
                AND (CAST($5 AS TEXT) IS NULL OR bundle_id = $5)
                AND (CAST($6 AS TEXT) IS NULL OR subscription_group_id = $6)
                AND (CAST($7 AS TEXT) IS NULL OR product_id = $7)
            ORDER BY transaction_id DESC LIMIT $8
            """, selection
        ).map { try Transaction($0) }
        return LedgerPage(found, limit: query.limit, floor: floor, id: \.transactionID)
    }

    /// The periods of an account's subscriptions, newest first.
    static func periods(
        of accountID: AccountID, before: TransactionID?, limit: Int, _ connection: Connection
    ) throws -> LedgerPage<Transaction> {
        let found = try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND kind <> 'consumable' AND kind = $2 AND transaction_id < $3
            ORDER BY transaction_id DESC LIMIT $4
            """,
            [
                accountID.rawValue, ProductKind.autoRenewableSubscription.rawValue, before?.rawValue ?? Int64(1) << 53,
                limit + 1,
            ]
        ).map { try Transaction($0) }
        return LedgerPage(found, limit: limit, floor: nil, id: \.transactionID)
    }

    /// The account's last period in the same group before this one, both bought or both shared by a family; nil when
    /// this is the first.
    static func earlier(than period: Transaction, _ connection: Connection) throws -> Transaction? {
        try connection.queryOne(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND bundle_id = $2 AND kind <> 'consumable' AND subscription_group_id = $3
                AND transaction_id < $4 AND (shared_from IS NULL) = CAST($5 AS BOOLEAN)
            ORDER BY transaction_id DESC LIMIT 1
            """,
            [
                period.accountID.rawValue, period.bundleID.rawValue, period.subscriptionGroupID?.rawValue,
                period.transactionID.rawValue, period.sharedFrom == nil,
            ]
        ).map { try Transaction($0) }
    }

    // MARK: Families

    /// An account's own current transactions that a family can share: its subscriptions' periods that have not ended,
    /// and the first ones of its non-consumables, oldest first.
    static func shareable(
        of accountID: AccountID, at date: Int64, limit: Int, _ connection: Connection
    ) throws -> [Transaction] {
        try connection.query(
            """
            SELECT \(Transaction.columns) FROM transactions
            WHERE account_id = $1 AND kind <> 'consumable' AND shared_from IS NULL AND \(isCurrent(at: "$2"))
                AND (kind = 'autoRenewableSubscription'
                    OR (kind = 'nonConsumable' AND transaction_id = original_transaction_id))
            ORDER BY transaction_id DESC LIMIT $3
            """, [accountID.rawValue, date, limit]
        ).map { try Transaction($0) }.reversed()
    }

    /// A member's last transaction that was shared from a purchaser's; nil when the member has none.
    static func shared(
        from source: TransactionID, with accountID: AccountID, _ connection: Connection
    ) throws -> Transaction? {
        try connection.queryOne(
            """
            SELECT \(Transaction.columns) FROM transactions WHERE shared_from = $1 AND account_id = $2
            ORDER BY transaction_id DESC LIMIT 1
            """, [source.rawValue, accountID.rawValue]
        ).map { try Transaction($0) }
    }
}

extension Transaction {
    static let columns = """
        account_id, transaction_id, original_transaction_id, bundle_id, product_id, item_id, kind, quantity, price, currency, storefront, \
        purchase_date, original_purchase_date, expires_date, web_order_line_item_id, subscription_group_id, offer, \
        application_username, idempotency_key, finished_at, revoked_at, revocation_reason, \
        promotional_offer_id, is_upgraded, refunded, shared_from, offer_kind, is_renewal, offer_mode, offer_period
        """

    /// The number of ``columns``: the index of a column after them.
    static let columnCount = columns.split(separator: ",").count

    init(_ row: Row) throws {
        guard let kind = ProductKind(rawValue: try row.string(6)) else {
            throw StoreError(.internalError, "The ledger holds a kind of product that this program does not know.")
        }
        self.init(
            accountID: AccountID(try row.string(0)), transactionID: TransactionID(rawValue: try row.int64(1)),
            originalTransactionID: TransactionID(rawValue: try row.int64(2)), bundleID: BundleID(try row.string(3)),
            productID: ProductID(try row.string(4)), itemID: try row.int64(5), kind: kind, quantity: try row.int(7),
            price: Money(milliunits: try row.int64(8), currency: try row.string(9)), storefront: try row.string(10),
            purchaseDate: try row.int64(11), originalPurchaseDate: try row.int64(12),
            expiresDate: try row.optionalInt64(13),
            webOrderLineItemID: try row.optionalInt64(14),
            subscriptionGroupID: try row.optionalString(15).map { SubscriptionGroupID($0) },
            offer: try row.optionalString(16).flatMap { Offer(rawValue: $0) },
            applicationUsername: try row.optionalString(17),
            idempotencyKey: try row.optionalString(18).flatMap { UUID(uuidString: $0) },
            finishedAt: try row.optionalInt64(19),
            revokedAt: try row.optionalInt64(20), revocationReason: try row.optionalInt64(21),
            namedOffer: NamedOffer(id: try row.optionalString(22), kind: try row.optionalString(26)),
            isUpgraded: try row.bool(23), refunded: try row.int64(24), isRenewal: try row.bool(27),
            offerTerms: OfferTerms(mode: try row.optionalString(28), period: try row.optionalString(29)),
            sharedFrom: try row.optionalInt64(25).map { TransactionID(rawValue: $0) })
    }

    /// The statement's text, built once because every purchase uses it.
    private static let insertion = """
        INSERT INTO transactions (\(columns), changed) VALUES
            ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23, $24, $25, $26, $27, $28, $29, $30, $31)
        """

    func insert(in environment: StoreEnvironment, _ connection: Connection) throws {
        // When the history has gone on since the identifier was taken, the transaction comes to its new end.
        let number = try HistoryEnds.move(to: transactionID, of: accountID, connection)
        let values: [SQLValue] = [
            .text(accountID.rawValue), .integer(transactionID.rawValue), .integer(originalTransactionID.rawValue),
            .text(bundleID.rawValue), .text(productID.rawValue), .integer(itemID), .text(kind.rawValue),
            .integer(Int64(quantity)), .integer(price.milliunits), .text(price.currency), .text(storefront),
            .integer(purchaseDate), .integer(originalPurchaseDate), SQLValue(expiresDate), SQLValue(webOrderLineItemID),
            SQLValue(subscriptionGroupID?.rawValue), SQLValue(offer?.rawValue), SQLValue(applicationUsername),
            SQLValue(idempotencyKey?.text), SQLValue(finishedAt), SQLValue(revokedAt), SQLValue(revocationReason),
            SQLValue(namedOffer?.id), .boolean(isUpgraded), .integer(refunded), SQLValue(sharedFrom?.rawValue),
            SQLValue(namedOffer?.kindColumn), .boolean(isRenewal), SQLValue(offerTerms?.paymentMode.rawValue),
            SQLValue(offerTerms?.period?.description),
            SQLValue(number == transactionID.rawValue ? nil : number),
        ]
        try connection.execute(Self.insertion, values: values)
        // A tester's history can be cleared, so only production's rows show whether the server has the transaction.
        guard environment == .production else { return }
        connection.witness("SELECT 1 FROM transactions WHERE transaction_id = $1", [.integer(transactionID.rawValue)])
    }
}

extension SQLValue {
    init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
}
