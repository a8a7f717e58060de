import Database
import Foundation
import MerchantWire
import StoreWire

/// A redeemed purchase, or what a store has said of one before it was redeemed.
struct RedemptionRow {
    enum State: String {
        case granted
        case revoked
        /// Nobody has redeemed it; the store has spoken of it.
        case open
    }

    var key: String
    /// Empty for one that nobody redeemed.
    var userID: UserID
    var grants: [ProductGrant]
    var expiresAt: Int64?
    var redeemedAt: Int64
    var state: State
    var stateSignedAt: Int64
    /// The credits that refunds and changes of plan took back, each with its cause.
    var takenBack: [TakenCredits]
    /// Who was given the credits: they stay there when the purchase goes over to another user.
    var creditedUser: UserID
    /// The grants of credits.
    var credits: [ProductGrant]
    /// The transaction that was redeemed first.
    var transactionID: String
    /// When another plan took the place of this period before it was over; in milliseconds since 1970.
    var supersededAt: Int64?

    private static let columns = """
        redemption_key, user_id, grants, expires_at, redeemed_at, state, state_signed_at, taken_back, credited_user, credits,
        transaction_id, superseded_at
        """
    private static let findText = "SELECT \(columns) FROM redemptions WHERE redemption_key = $1"
    private static let pageText =
        "SELECT \(columns) FROM redemptions WHERE redemption_key > $1 ORDER BY redemption_key LIMIT $2"

    static func find(_ key: String, _ connection: Connection) throws -> RedemptionRow? {
        try connection.queryOne(findText, [key]).map { try RedemptionRow($0) }
    }

    /// Some of them, in the order of their keys.
    /// - Parameter key: the last one of those before; empty for the first.
    static func page(after key: String, limit: Int, _ connection: Connection) throws -> [RedemptionRow] {
        try connection.query(pageText, [key, limit]).map { try RedemptionRow($0) }
    }

    private init(_ row: Row) throws {
        key = try row.string(0)
        userID = UserID(try row.string(1))
        grants = try ProductCatalog.grants(try row.string(2))
        expiresAt = try row.optionalInt64(3)
        redeemedAt = try row.int64(4)
        state = State(rawValue: try row.string(5)) ?? .revoked
        stateSignedAt = try row.int64(6)
        takenBack =
            try row.optionalString(7).map { try JSONDecoder().decode([TakenCredits].self, from: Data($0.utf8)) } ?? []
        creditedUser = UserID(try row.optionalString(8) ?? row.string(1))
        credits = try row.optionalString(9).map { try ProductCatalog.grants($0) } ?? grants.filter(\.isCredits)
        transactionID = try row.string(10)
        supersededAt = try row.optionalInt64(11)
        // An earlier program did not keep the cause.
        let cause: TakenCredits.Cause = supersededAt == nil ? .refund : .superseded
        for index in takenBack.indices where takenBack[index].cause == nil { takenBack[index].cause = cause }
    }

    /// Writes a redemption down unless its key is taken; says whether it was written.
    static func insert(
        _ plan: RedemptionPlan, key: String, for user: UserID, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        let purchase = plan.purchase
        return try connection.execute(
            """
            INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                quantity, grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'granted', $11)
            ON CONFLICT (redemption_key) DO NOTHING
            """,
            [
                key, user.rawValue, purchase.productID.rawValue, purchase.transactionID,
                purchase.originalTransactionID, purchase.quantity, plan.grantsJSON, purchase.purchasedAt,
                plan.expiresAt, now, purchase.signedAt,
            ]) == 1
    }

    /// Writes a purchase down that nobody has redeemed; false when there is a row of it already.
    static func insertOpen(_ plan: RedemptionPlan, at now: Int64, _ connection: Connection) throws -> Bool {
        let purchase = plan.purchase
        return try connection.execute(
            """
            INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                quantity, grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
            VALUES ($1, '', $2, $3, $4, $5, '[]', $6, $7, $8, 'open', $9)
            ON CONFLICT (redemption_key) DO NOTHING
            """,
            [
                plan.key.text, purchase.productID.rawValue, purchase.transactionID, purchase.originalTransactionID,
                purchase.quantity, purchase.purchasedAt, plan.expiresAt, now, purchase.signedAt,
            ]) == 1
    }

    /// Gives a row that nobody has redeemed to a user; false when somebody was faster.
    static func claim(
        _ plan: RedemptionPlan, key: String, for user: UserID, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE redemptions SET user_id = $2, grants = $3, redeemed_at = $4, state = 'granted', quantity = $5
            WHERE redemption_key = $1 AND user_id = '' AND state = 'open'
            """,
            [key, user.rawValue, plan.grantsJSON, now, plan.purchase.quantity]) == 1
    }

    /// Writes down that another plan took the place of the period, or did not, and why credits were taken back.
    func keepSuperseded(_ connection: Connection) throws {
        try connection.execute(
            "UPDATE redemptions SET superseded_at = $2, taken_back = $3 WHERE redemption_key = $1",
            [key, supersededAt, takenBack.isEmpty ? nil : try TakenCredits.json(takenBack)])
    }

    /// Keeps what was taken back of a redemption's credits.
    static func setTakenBack(_ credits: [TakenCredits]?, of key: String, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE redemptions SET taken_back = $2 WHERE redemption_key = $1",
            [key, try credits.map(TakenCredits.json)])
    }
}
