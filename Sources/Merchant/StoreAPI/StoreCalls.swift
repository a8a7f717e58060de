import Database
import MerchantWire
import StoreWire

/// A request that the merchant has promised to send to a store's API.
struct StoreCall: Sendable, Equatable {
    /// The kinds of requests.
    enum Kind: String, Sendable {
        /// The consumption of a purchase whose refund a customer asks for.
        case consumption
        /// The account token of the user of a purchase.
        case accountToken
    }

    /// An identifier of the request's subject, so that it is queued once.
    var id: String
    var kind: Kind
    var userID: UserID
    var bundleID: BundleID
    var environment: StoreEnvironment
    /// The transaction that the request names.
    var transactionID: String
    /// The redemption key of the purchase.
    var purchase: String
    /// The time from which the request is no longer sent, in milliseconds since 1970.
    var endsAt: Int64
    /// The attempts so far.
    var attempts = 0
}

/// The queue of requests to stores' APIs: the table `api_calls`. A request is written in the transaction that makes it
/// necessary, and leased to one process at a time.
enum StoreCalls {
    /// Queues a request, due at once, unless it was queued before for the same user. One for another user replaces it:
    /// a purchase has moved.
    static func insert(_ call: StoreCall, at now: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO api_calls (call_id, kind, user_id, bundle_id, environment, transaction_id, purchase, created_at,
                ends_at, state, due_at, attempts)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'waiting', $8, 0)
            ON CONFLICT (call_id) DO UPDATE SET user_id = excluded.user_id, purchase = excluded.purchase,
                ends_at = excluded.ends_at, state = 'waiting', due_at = excluded.due_at, attempts = 0, result = NULL,
                settled_at = NULL
            WHERE api_calls.user_id <> excluded.user_id
            """,
            [
                call.id, call.kind.rawValue, call.userID.rawValue, call.bundleID.rawValue, call.environment.rawValue,
                call.transactionID, call.purchase, now, call.endsAt,
            ])
    }

    /// Leases requests to one environment that are due. No other process takes them until the lease ends.
    static func takeDue(
        to environment: StoreEnvironment, at now: Int64, leaseEnd: Int64, limit: Int, _ connection: Connection
    ) throws -> [StoreCall] {
        try connection.query(
            """
            UPDATE api_calls SET due_at = $2 WHERE state = 'waiting' AND due_at <= $1 AND call_id IN (
                SELECT call_id FROM api_calls WHERE state = 'waiting' AND due_at <= $1 AND environment = $4
                ORDER BY due_at, call_id LIMIT $3)
            RETURNING \(columns)
            """, [now, leaseEnd, limit, environment.rawValue]
        ).compactMap { try call($0) }
    }

    /// Returns requests to one environment that wait and for which it is too late. The caller settles them.
    static func overdue(
        to environment: StoreEnvironment, at now: Int64, limit: Int, _ connection: Connection
    ) throws -> [StoreCall] {
        try connection.query(
            """
            SELECT \(columns) FROM api_calls WHERE state = 'waiting' AND ends_at <= $1 AND environment = $2
            ORDER BY due_at, call_id LIMIT $3
            """, [now, environment.rawValue, limit]
        ).compactMap { try call($0) }
    }

    private static let columns =
        "call_id, kind, user_id, bundle_id, environment, transaction_id, purchase, ends_at, attempts"

    private static func call(_ row: Row) throws -> StoreCall? {
        guard let kind = StoreCall.Kind(rawValue: try row.string(1)),
            let environment = StoreEnvironment(rawValue: try row.string(4))
        else { return nil }
        return StoreCall(
            id: try row.string(0), kind: kind, userID: UserID(try row.string(2)), bundleID: BundleID(try row.string(3)),
            environment: environment, transactionID: try row.string(5), purchase: try row.string(6),
            endsAt: try row.int64(7), attempts: try row.int(8))
    }

    /// Records that a request is sent again later, unless it was replaced meanwhile.
    static func postpone(_ call: StoreCall, to due: Int64, _ reason: String, _ connection: Connection) throws {
        try connection.execute(
            """
            UPDATE api_calls SET due_at = $2, attempts = attempts + 1, result = $3
            WHERE call_id = $1 AND state = 'waiting' AND user_id = $4
            """, [call.id, due, String(reason.prefix(500)), call.userID.rawValue])
    }

    /// Puts off a request that was taken and not sent, unless it was replaced meanwhile.
    static func putOff(_ call: StoreCall, to due: Int64, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE api_calls SET due_at = $2 WHERE call_id = $1 AND state = 'waiting' AND user_id = $3",
            [call.id, due, call.userID.rawValue])
    }

    /// Records the end of a request: that the store accepted it, or why it is no longer sent. One that was
    /// replaced meanwhile stays.
    /// - Returns: false when another process has settled the request, or it was replaced.
    static func settle(_ call: StoreCall, _ result: String, at now: Int64, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE api_calls SET state = 'settled', attempts = attempts + 1, result = $2, settled_at = $3
            WHERE call_id = $1 AND state = 'waiting' AND user_id = $4
            """, [call.id, String(result.prefix(500)), now, call.userID.rawValue]) > 0
    }

    /// Removes settled consumption requests. Those of account tokens stay, so that they are not sent again.
    /// - Returns: the number of requests removed, at most `limit`.
    static func remove(settledBefore end: Int64, limit: Int, _ connection: Connection) throws -> Int {
        try connection.execute(
            """
            DELETE FROM api_calls WHERE call_id IN (
                SELECT call_id FROM api_calls WHERE state = 'settled' AND settled_at < $1 AND kind = 'consumption'
                ORDER BY settled_at, call_id LIMIT $2)
            """, [end, limit])
    }
}
