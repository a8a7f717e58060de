import Database
import Foundation
import StoreWire

/// A request for an item that was not bought at once: a row of `item_requests`. The account needs approval for
/// purchases (Ask to Buy), or the purchase was refused.
struct ItemRequest: Sendable, Equatable {
    enum State: String, Sendable {
        /// Nobody has decided yet.
        case waiting
        /// The item was bought.
        case approved
        /// The request was declined.
        case declined
        /// The purchase was refused: at once, or after its approval.
        case failed
    }

    var idempotencyKey: UUID
    var accountID: AccountID
    var item: Int64
    /// The price in the storefront at the time of the request, which the approval charges.
    var price: Money
    var storefront: String
    var state: State
    /// The reason of ``State/failed``.
    var failure: WireError?
    /// The time of the request in milliseconds since 1970.
    var createdAt: Int64

    /// The answer to the device that asked: nil when the item was bought.
    var refusal: StoreError? {
        switch state {
        case .waiting:
            StoreError(.awaitsApproval, "The request to buy was sent. The item is yours once it is approved.")
        case .declined: StoreError(.paymentDeclined, "The request to buy was declined.")
        case .failed: StoreError(failure?.code ?? .paymentDeclined, failure?.message ?? "The purchase failed.")
        case .approved: nil
        }
    }

    private static let columns = """
        idempotency_key, account_id, item, price, currency, storefront, state, failure_code, failure_message, created_at
        """

    /// The columns of a table that a joined statement names `name`.
    static func columns(of name: String) -> String {
        columns.split(separator: ", ").map { "\(name).\($0)" }.joined(separator: ", ")
    }

    /// Creates a request that waits, or that was refused for a reason.
    init(
        _ request: ItemPurchaseRequest, by account: Account, price: Money, refusedFor failure: WireError? = nil,
        at time: Int64
    ) {
        idempotencyKey = request.idempotencyKey
        accountID = account.accountID
        item = request.item
        self.price = price
        storefront = account.storefront
        state = failure == nil ? .waiting : .failed
        self.failure = failure
        createdAt = time
    }

    /// Reads a row whose columns begin with the number `first`.
    init(_ row: Row, from first: Int = 0) throws {
        guard let key = UUID(uuidString: try row.string(first)),
            let state = State(rawValue: try row.string(first + 6))
        else {
            throw StoreError(.internalError, "The database has a request for an item that this program cannot read.")
        }
        idempotencyKey = key
        accountID = AccountID(rawValue: try row.string(first + 1))
        item = try row.int64(first + 2)
        price = Money(milliunits: try row.int64(first + 3), currency: try row.string(first + 4))
        storefront = try row.string(first + 5)
        self.state = state
        failure = try row.optionalString(first + 7).map {
            WireError(code: WireError.Code(rawValue: $0), message: try row.optionalString(first + 8) ?? "")
        }
        createdAt = try row.int64(first + 9)
    }

    static func find(_ key: UUID, _ connection: Connection) throws -> ItemRequest? {
        try connection.queryOne(
            "SELECT \(columns) FROM item_requests WHERE idempotency_key = $1", [key.uuidString]
        ).map { try ItemRequest($0) }
    }

    /// The account's request for an item that nobody has decided yet.
    static func waiting(_ item: Int64, by accountID: AccountID, _ connection: Connection) throws -> ItemRequest? {
        try connection.queryOne(
            "SELECT \(columns) FROM item_requests WHERE account_id = $1 AND item = $2 AND state = 'waiting'",
            [accountID.rawValue, item]
        ).map { try ItemRequest($0) }
    }

    /// The newest requests that nobody has decided yet.
    static func waiting(limit: Int, _ connection: Connection) throws -> [ItemRequest] {
        try connection.query(
            "SELECT \(columns) FROM item_requests WHERE state = 'waiting' ORDER BY created_at DESC LIMIT $1",
            [Int64(limit)]
        ).map { try ItemRequest($0) }
    }

    /// Deletes an account's requests that nobody has decided yet.
    /// - Returns: their keys.
    static func deleteWaiting(of accountID: AccountID, _ connection: Connection) throws -> [UUID] {
        try connection.query(
            "DELETE FROM item_requests WHERE account_id = $1 AND state = 'waiting' RETURNING idempotency_key",
            [accountID.rawValue]
        ).compactMap { UUID(uuidString: try $0.string(0)) }
    }

    /// Deletes the requests with these keys, for a tester's cleared history.
    static func delete(_ keys: [UUID], _ connection: Connection) throws {
        for key in keys { try connection.execute("DELETE FROM item_requests WHERE idempotency_key = $1", [key.text]) }
    }

    func insert(_ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO item_requests (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
            [
                idempotencyKey.uuidString, accountID.rawValue, item, price.milliunits, price.currency, storefront,
                state.rawValue, failure?.code.rawValue, failure?.message, createdAt,
            ])
    }

    /// Settles a waiting request. Returns false when it does not wait any more.
    static func settle(
        _ key: UUID, as state: State, failure: WireError? = nil, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE item_requests SET state = $2, failure_code = $3, failure_message = $4
            WHERE idempotency_key = $1 AND state = 'waiting'
            """, [key.uuidString, state.rawValue, failure?.code.rawValue, failure?.message]) == 1
    }
}
