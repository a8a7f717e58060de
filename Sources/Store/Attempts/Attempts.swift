import Database
import Foundation
import StoreWire

/// The table `attempts`: the attempts to buy that did not succeed at once.
enum Attempts {
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(attempt_id) FROM attempts", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    /// Inserts an attempt.
    /// - Parameter key: the key of a row of `purchases` or `item_requests`.
    static func insert(
        _ attemptID: TransactionID, of accountID: AccountID, key: UUID, _ connection: Connection
    ) throws {
        try connection.execute(
            "INSERT INTO attempts (attempt_id, account_id, idempotency_key) VALUES ($1, $2, $3)",
            [attemptID.rawValue, accountID.rawValue, key.text])
    }

    /// The newest attempts before an identifier. A filter other than the account looks at
    /// ``LedgerQuery/mostLooked`` rows.
    static func page(_ query: AttemptQuery, _ connection: Connection) throws -> LedgerPage<PurchaseAttempt> {
        let before = query.before?.rawValue ?? Int64(1) << 53
        let ofAccount = query.accountID == nil ? "" : "AND a.account_id = $3"
        let account: [any SQLConvertible] = query.accountID.map { [$0.rawValue] } ?? []
        var floor: TransactionID?
        if query.isFiltered {
            let bounds: [any SQLConvertible] = [before, LedgerQuery.mostLooked - 1]
            floor = try connection.queryOne(
                """
                SELECT a.attempt_id FROM attempts a WHERE a.attempt_id < $1 \(ofAccount)
                ORDER BY a.attempt_id DESC LIMIT 1 OFFSET $2
                """, bounds + account
            ).map { TransactionID(rawValue: try $0.int64(0)) }
        }
        let selection: [any SQLConvertible] = [
            before, floor?.rawValue ?? 0, query.bundleID?.rawValue, query.productID?.rawValue, query.limit + 1,
        ]
        let attempts = try connection.query(
            """
            SELECT \(Purchase.columns(of: "p")), a.attempt_id, i.transaction_id, i.payment_reference,
                \(ItemRequest.columns(of: "r"))
            FROM attempts a
                LEFT JOIN purchases p ON p.idempotency_key = a.idempotency_key
                LEFT JOIN item_requests r ON r.idempotency_key = a.idempotency_key
                LEFT JOIN item_purchases i ON i.idempotency_key = r.idempotency_key
            WHERE a.attempt_id < $1 AND a.attempt_id >= $2 \(ofAccount.replacing("$3", with: "$6"))
                AND (p.idempotency_key IS NOT NULL OR r.idempotency_key IS NOT NULL)
                AND (CAST($3 AS TEXT) IS NULL OR p.bundle_id = $3)
                AND (CAST($4 AS TEXT) IS NULL OR p.product_id = $4
                    OR '\(CatalogItem.paymentPrefix)' || CAST(r.item AS TEXT) = $4) \(condition(query.state))
            ORDER BY a.attempt_id DESC LIMIT $5
            """, selection + account
        ).map { try attempt($0) }
        return LedgerPage(attempts, limit: query.limit, floor: floor, id: \.attemptID)
    }

    private static func attempt(_ row: Row) throws -> PurchaseAttempt {
        let column = Purchase.columnCount
        let attemptID = TransactionID(rawValue: try row.int64(column))
        guard try row.optionalString(0) == nil else { return PurchaseAttempt(try Purchase(row), attemptID: attemptID) }
        var attempt = PurchaseAttempt(try ItemRequest(row, from: column + 3), attemptID: attemptID)
        attempt.transactionID = try row.optionalInt64(column + 1).map { TransactionID(rawValue: $0) }
        attempt.paymentReference = try row.optionalString(column + 2)
        return attempt
    }

    private static func condition(_ state: PurchaseAttempt.State?) -> String {
        switch state {
        // The ledger has the purchases.
        case nil, .bought: ""
        case .waiting: "AND (p.state = 'deferred' OR r.state = 'waiting')"
        case .interrupted: "AND p.state = 'failed' AND p.failure_code = 'interrupted'"
        case .declined:
            """
            AND (p.state = 'failed' AND p.failure_code <> 'interrupted' OR r.state = 'declined' OR r.state = 'failed')
            """
        }
    }

    /// The most attempts of an account that ``newestKeys(of:_:)`` and ``waiting(of:in:_:)`` look at: the newest.
    private static let mostForNews = 200

    /// The keys of an account's newest attempts.
    static func newestKeys(of accountID: AccountID, _ connection: Connection) throws -> Set<UUID> {
        let rows = try connection.query(
            "SELECT idempotency_key FROM attempts WHERE account_id = $1 ORDER BY attempt_id DESC LIMIT $2",
            [accountID.rawValue, mostForNews])
        return Set(try rows.compactMap { UUID(uuidString: try $0.string(0)) })
    }

    /// The number of an account's newest attempts in an app that wait for approval.
    static func waiting(of accountID: AccountID, in bundleID: BundleID, _ connection: Connection) throws -> Int64 {
        try connection.queryOne(
            """
            SELECT count(*)
            FROM (
                SELECT idempotency_key FROM attempts WHERE account_id = $1 ORDER BY attempt_id DESC LIMIT $3
            ) a
                JOIN purchases p ON p.idempotency_key = a.idempotency_key
            WHERE p.bundle_id = $2 AND p.state = 'deferred'
            """, [accountID.rawValue, bundleID.rawValue, mostForNews]
        )?.int64(0) ?? 0
    }

    /// Deletes some attempts of an account.
    /// - Returns: the keys of their purchases and requests for items; empty when the account has none left.
    static func delete(of accountID: AccountID, limit: Int, _ connection: Connection) throws -> [UUID] {
        let rows = try connection.query(
            "SELECT attempt_id, idempotency_key FROM attempts WHERE account_id = $1 ORDER BY attempt_id LIMIT $2",
            [accountID.rawValue, limit])
        for row in rows {
            try connection.execute("DELETE FROM attempts WHERE attempt_id = $1", [try row.int64(0)])
        }
        return try rows.compactMap { UUID(uuidString: try $0.string(1)) }
    }
}
