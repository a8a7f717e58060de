import Database
import Foundation
import StoreWire

/// One attempt to buy, identified by the idempotency key from the device. The key keeps its answer permanently.
struct Purchase: Sendable, Equatable {
    enum State: String, Sendable {
        case purchased
        case deferred
        case failed
    }

    var idempotencyKey: UUID
    var accountID: AccountID
    var bundleID: BundleID
    var productID: ProductID
    var quantity: Int
    var applicationUsername: String?
    var state: State
    var failure: WireError?
    var transactionID: TransactionID?
    var amount: Money
    var paymentReference: String?
    var createdAt: Int64
    /// The offer that the request named.
    var namedOffer: NamedOffer?
    /// The account's storefront at the time of the request, to which ``amount`` belongs. Nil in rows of older versions.
    var storefront: String?

    /// The quantity to store: the requested one, limited to the valid range. A refused request with an invalid quantity
    /// is stored with the nearest valid one.
    static func keptQuantity(_ asked: Int) -> Int { min(max(asked, 1), StoreLimits.quantity) }

    /// Whether the purchase waits, for approval or because it was interrupted.
    var waits: Bool { state == .deferred || failure?.code == .interrupted }

    /// Whether the authorization under the purchase's key is used, or can still be.
    var usesPayment: Bool { state == .purchased ? paymentReference != Store.freeReference : waits }

    /// Whether a repeated request asks for the same purchase.
    func isSame(as request: PurchaseRequest, of account: AccountID) -> Bool {
        accountID == account && bundleID == request.bundleID && productID == request.productID
            && quantity == Self.keptQuantity(request.quantity)
            && Self.isSame(applicationUsername, request.applicationUsername)
            && namedOffer == request.namedOffer
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }
}

extension PurchaseRequest {
    /// The offer that the request names; nil for none.
    var namedOffer: NamedOffer? {
        (offer?.offerID ?? offerJWS?.offerID).map { NamedOffer(.promotional, $0) }
            ?? winBackOfferID.map { NamedOffer(.winBack, $0) }
    }
}

extension Purchase {
    static let columns = """
        idempotency_key, account_id, bundle_id, product_id, quantity, application_username, state, failure_code, failure_message, \
        transaction_id, amount, currency, payment_reference, created_at, promotional_offer_id, storefront, offer_kind
        """

    /// The columns of a table that a joined statement names `name`.
    static func columns(of name: String) -> String {
        columns.split(separator: ", ").map { "\(name).\($0)" }.joined(separator: ", ")
    }

    static let columnCount = columns.split(separator: ", ").count

    /// Reads a row that begins with the columns.
    init(_ row: Row) throws {
        guard let state = State(rawValue: try row.string(6)), let key = UUID(uuidString: try row.string(0)) else {
            throw StoreError(.internalError, "A purchase is in a state that this program does not know.")
        }
        self.init(
            idempotencyKey: key, accountID: AccountID(try row.string(1)), bundleID: BundleID(try row.string(2)),
            productID: ProductID(try row.string(3)), quantity: try row.int(4),
            applicationUsername: try row.optionalString(5), state: state,
            failure: try row.optionalString(7).map { code in
                WireError(code: WireError.Code(code), message: try row.optionalString(8) ?? "")
            },
            transactionID: try row.optionalInt64(9).map { TransactionID(rawValue: $0) },
            amount: Money(milliunits: try row.int64(10), currency: try row.string(11)),
            paymentReference: try row.optionalString(12), createdAt: try row.int64(13),
            namedOffer: NamedOffer(id: try row.optionalString(14), kind: try row.optionalString(16)),
            storefront: try row.optionalString(15))
    }

    static func find(_ key: UUID, _ connection: Connection) throws -> Purchase? {
        try connection.queryOne("SELECT \(columns) FROM purchases WHERE idempotency_key = $1", [key.text])
            .map { try Purchase($0) }
    }

    private static let hasNoTransaction = """
        state = 'purchased' AND NOT EXISTS (
            SELECT 1 FROM transactions WHERE transactions.transaction_id = purchases.transaction_id)
        """

    /// The key of a purchase whose transaction is missing; nil in a whole ledger.
    ///
    /// Free purchases of the sandbox do not count. When earlier versions cleared a tester's history, they left the
    /// choices of plans, which cost nothing, without the transactions that they named. Production's history is never
    /// cleared.
    static func keyWithoutTransaction(
        in environment: StoreEnvironment, _ connection: Connection
    ) throws -> String? {
        let isCounted = environment == .sandbox ? "AND amount > 0" : ""
        return try connection.queryOne(
            """
            SELECT idempotency_key FROM purchases
            WHERE \(hasNoTransaction) \(isCounted) ORDER BY idempotency_key LIMIT 1
            """
        )?.string(0)
    }

    /// The keys of an account's purchases whose transactions were deleted. Reads the whole table.
    static func keysWithoutTransaction(of accountID: AccountID, _ connection: Connection) throws -> [UUID] {
        try connection.query(
            "SELECT idempotency_key FROM purchases WHERE account_id = $1 AND \(hasNoTransaction)", [accountID.rawValue]
        ).compactMap { UUID(uuidString: try $0.string(0)) }
    }

    /// Deletes the purchases with these keys, for a tester's cleared history.
    static func delete(_ keys: [UUID], _ connection: Connection) throws {
        for key in keys { try connection.execute("DELETE FROM purchases WHERE idempotency_key = $1", [key.text]) }
    }

    private static let insertion = """
        INSERT INTO purchases (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        ON CONFLICT (idempotency_key) DO NOTHING
        """

    /// Inserts the purchase. Returns false when its key already exists.
    func insert(_ connection: Connection) throws -> Bool {
        let values: [SQLValue] = [
            .text(idempotencyKey.text), .text(accountID.rawValue), .text(bundleID.rawValue),
            .text(productID.rawValue), .integer(Int64(quantity)), SQLValue(applicationUsername), .text(state.rawValue),
            SQLValue(failure?.code.rawValue), SQLValue(failure?.message), SQLValue(transactionID?.rawValue),
            .integer(amount.milliunits), .text(amount.currency), SQLValue(paymentReference), .integer(createdAt),
            SQLValue(namedOffer?.id), SQLValue(storefront), SQLValue(namedOffer?.kindColumn),
        ]
        return try connection.execute(Self.insertion, values: values) > 0
    }

    /// The newest 1,000 purchases that wait for something.
    static func pending(_ waiting: Store.Waiting, _ connection: Connection) throws -> [Store.PendingPurchase] {
        try connection.query(
            """
            SELECT idempotency_key, account_id, bundle_id, product_id, quantity, created_at FROM purchases
            WHERE \(waiting.condition) ORDER BY created_at DESC LIMIT 1000
            """, []
        ).compactMap { row in
            guard let key = UUID(uuidString: try row.string(0)) else { return nil as Store.PendingPurchase? }
            return Store.PendingPurchase(
                idempotencyKey: key, accountID: AccountID(try row.string(1)), bundleID: BundleID(try row.string(2)),
                productID: ProductID(try row.string(3)), quantity: try row.int(4), createdAt: try row.int64(5),
                isInterrupted: waiting == .forSettlement)
        }
    }

    /// Records that a waiting purchase failed. Returns false when it does not wait any more.
    static func fail(
        _ key: UUID, _ failure: WireError, _ waiting: Store.Waiting, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE purchases SET state = 'failed', failure_code = $2, failure_message = $3
            WHERE idempotency_key = $1 AND \(waiting.condition)
            """, [key.uuidString, failure.code.rawValue, failure.message]) == 1
    }

    /// Records that a waiting purchase was paid. Returns false when it does not wait any more.
    /// - Parameter reference: the payment's reference.
    static func complete(
        _ key: UUID, _ transactionID: TransactionID, _ amount: Money, reference: String, _ waiting: Store.Waiting,
        _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE purchases SET state = 'purchased', transaction_id = $2, amount = $3, currency = $4, payment_reference = $5,
                failure_code = NULL, failure_message = NULL
            WHERE idempotency_key = $1 AND \(waiting.condition)
            """, [key.uuidString, transactionID.rawValue, amount.milliunits, amount.currency, reference]) == 1
    }
}

extension Store.Waiting {
    /// The SQL condition that selects the waiting rows.
    fileprivate var condition: String {
        switch self {
        case .forApproval: "state = 'deferred'"
        case .forSettlement: "state = 'failed' AND failure_code = 'interrupted'"
        }
    }
}
