import Database
import StoreWire

/// The table `refund_requests`: customers' requests for refunds. A transaction has at most one that waits.
enum RefundRequests {
    private static let columns = """
        request_id, transaction_id, account_id, bundle_id, product_id, reason, requested_at, deadline, state, \
        consumption_version, consumption, decided_at
        """

    // MARK: Reading

    /// The request with an identifier; nil when there is none.
    static func find(_ id: TransactionID, _ connection: Connection) throws -> RefundRequest? {
        try connection.queryOne("SELECT \(columns) FROM refund_requests WHERE request_id = $1", [id.rawValue])
            .map { try RefundRequest($0) }
    }

    /// The last request for a transaction; nil when there is none.
    static func newest(for transactionID: TransactionID, _ connection: Connection) throws -> RefundRequest? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM refund_requests WHERE transaction_id = $1 ORDER BY request_id DESC LIMIT 1
            """, [transactionID.rawValue]
        ).map { try RefundRequest($0) }
    }

    /// Checks that a request is not decided.
    /// - Throws: ``StoreError`` `not_found` or `wrong_state`; ``DatabaseError``.
    static func checkWaits(_ id: TransactionID, _ connection: Connection) throws {
        guard let request = try find(id, connection) else { throw Store.unknownRefundRequest }
        guard request.state == .waiting else {
            throw StoreError(.wrongState, "The request was \(request.state.rawValue) before.")
        }
    }

    /// The first request that waits and whose deadline is over at a date; nil when there is none.
    static func due(at date: Int64, _ connection: Connection) throws -> RefundRequest? {
        try connection.queryOne(
            """
            SELECT \(columns) FROM refund_requests WHERE state = 'waiting' AND deadline <= $1
            ORDER BY deadline, request_id LIMIT 1
            """, [date]
        ).map { try RefundRequest($0) }
    }

    /// The first request that waits and whose deadline is over at a date, of an account and of those that share
    /// subscriptions with it; nil when no request waits so long.
    static func due(
        at date: Int64, concerning accountID: AccountID, _ connection: Connection
    ) throws -> RefundRequest? {
        let accounts = Set(try Subscriptions.concerning(accountID, connection).map(\.accountID)).union([accountID])
        return try accounts.compactMap { account in
            try connection.queryOne(
                """
                SELECT \(columns) FROM refund_requests
                WHERE account_id = $1 AND state = 'waiting' AND deadline <= $2 ORDER BY deadline, request_id LIMIT 1
                """, [account.rawValue, date]
            ).map { try RefundRequest($0) }
        }.min { ($0.deadline, $0.requestID) < ($1.deadline, $1.requestID) }
    }

    /// When the store has to decide the next request by its rule; nil when it has none to decide.
    static func nextDate(in environment: StoreEnvironment, _ connection: Connection) throws -> Int64? {
        guard try RefundRules.current(in: environment, connection).rule != .ask else { return nil }
        return try connection.queryOne("SELECT min(deadline) FROM refund_requests WHERE state = 'waiting'", [])?
            .optionalInt64(0)
    }

    /// The requests that the operator asks for, newest first. This looks at ``LedgerQuery/mostLooked`` rows.
    static func list(_ filter: RefundRequestFilter, _ connection: Connection) throws -> LedgerPage<RefundRequest> {
        let before = filter.before?.rawValue ?? Int64(1) << 53
        let floor = try connection.queryOne(
            """
            SELECT request_id FROM refund_requests WHERE request_id < $1
            ORDER BY request_id DESC LIMIT 1 OFFSET $2
            """, [before, LedgerQuery.mostLooked - 1]
        ).map { TransactionID(rawValue: try $0.int64(0)) }
        let selection: [any SQLConvertible] = [
            before, floor?.rawValue ?? 0, filter.bundleID?.rawValue, filter.state?.rawValue, filter.limit + 1,
        ]
        let found = try connection.query(
            """
            SELECT \(columns) FROM refund_requests
            WHERE request_id < $1 AND request_id >= $2 AND (CAST($3 AS TEXT) IS NULL OR bundle_id = $3)
                AND (CAST($4 AS TEXT) IS NULL OR state = $4)
            ORDER BY request_id DESC LIMIT $5
            """, selection
        ).map { try RefundRequest($0) }
        return LedgerPage(found, limit: filter.limit, floor: floor, id: \.requestID)
    }

    /// The highest identifier. Later ones must be higher.
    static func highestID(_ connection: Connection) throws -> TransactionID? {
        try connection.queryOne("SELECT max(request_id) FROM refund_requests", [])?.optionalInt64(0)
            .map { TransactionID(rawValue: $0) }
    }

    // MARK: Writing

    /// Writes a new request.
    static func insert(_ request: RefundRequest, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO refund_requests (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            """,
            [
                .integer(request.requestID.rawValue), .integer(request.transactionID.rawValue),
                .text(request.accountID.rawValue), .text(request.bundleID.rawValue),
                .text(request.productID.rawValue), .text(request.reason.rawValue), .integer(request.requestedAt),
                .integer(request.deadline), .text(request.state.rawValue),
                SQLValue(request.consumption.map { Int64($0.version) }), SQLValue(request.consumption?.json),
                SQLValue(request.decidedAt),
            ] as [SQLValue])
    }

    /// Keeps what the app's server says of a transaction, in place of what it said before, if a request for it waits
    /// and its deadline is not over.
    /// - Returns: whether the answer was kept.
    static func answer(
        _ answer: ConsumptionAnswer, for transactionID: TransactionID, at date: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE refund_requests SET consumption_version = $2, consumption = $3
            WHERE transaction_id = $1 AND state = 'waiting' AND deadline > $4
            """, [transactionID.rawValue, answer.version, answer.json, date]) > 0
    }

    /// Records the decision on the request for a transaction, if one waits.
    static func close(
        of transactionID: TransactionID, as state: RefundRequest.State, at date: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE refund_requests SET state = $2, decided_at = $3 WHERE transaction_id = $1 AND state = 'waiting'
            """, [transactionID.rawValue, state.rawValue, date])
    }

    /// Declines one request, if it waits. Nobody is told.
    static func abandon(_ id: TransactionID, at date: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE refund_requests SET state = 'declined', decided_at = $2 WHERE request_id = $1 AND state = 'waiting'
            """, [id.rawValue, date])
    }

    /// Deletes the requests for transactions, for a tester's cleared history.
    static func delete(of ids: [TransactionID], _ connection: Connection) throws {
        for id in ids {
            try connection.execute("DELETE FROM refund_requests WHERE transaction_id = $1", [id.rawValue])
        }
    }
}

extension RefundRequest {
    fileprivate init(_ row: Row) throws {
        guard let reason = RefundReason(rawValue: try row.string(5)), let state = State(rawValue: try row.string(8))
        else {
            throw StoreError(.internalError, "A request for a refund has a word that this program does not know.")
        }
        var consumption: ConsumptionAnswer?
        if let version = try row.optionalInt(9), let json = try row.optionalString(10) {
            consumption = ConsumptionAnswer(version: version, json: json)
        }
        self.init(
            requestID: TransactionID(rawValue: try row.int64(0)),
            transactionID: TransactionID(rawValue: try row.int64(1)), accountID: AccountID(try row.string(2)),
            bundleID: BundleID(try row.string(3)), productID: ProductID(try row.string(4)), reason: reason,
            requestedAt: try row.int64(6), deadline: try row.int64(7), state: state, consumption: consumption,
            decidedAt: try row.optionalInt64(11))
    }
}
