import Database
import Foundation
import MerchantWire
import StoreWire

/// The table `redemptions`.
extension RedemptionRow {
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

    private static let findAllText = """
        SELECT \(columns) FROM redemptions
        WHERE redemption_key IN (\((1...RedemptionKey.mostPlaces).map { "$\($0)" }.joined(separator: ", ")))
        """

    /// Returns the redemptions of a purchase by all users who share it.
    static func findAll(_ key: RedemptionKey, _ connection: Connection) throws -> [RedemptionRow] {
        try connection.query(findAllText, key.places(RedemptionKey.mostPlaces)).map { try RedemptionRow($0) }
    }

    /// Returns a page of redemptions, sorted by key.
    /// - Parameter key: the last key of the previous page; empty for the first page.
    static func page(after key: String, limit: Int, _ connection: Connection) throws -> [RedemptionRow] {
        try connection.query(pageText, [key, limit]).map { try RedemptionRow($0) }
    }

    fileprivate init(_ row: Row) throws {
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
        // An earlier program did not record the cause.
        let cause: TakenCredits.Cause = supersededAt == nil ? .refund : .superseded
        for index in takenBack.indices where takenBack[index].cause == nil { takenBack[index].cause = cause }
    }

    /// Returns the periods of a subscription as an earlier program knew them: those that were redeemed or refunded.
    /// - Parameter key: the subscription's key.
    static func periods(of key: String, _ connection: Connection) throws -> [Subscription.Period] {
        let start = RedemptionKey.periods(of: key)
        return try connection.query(
            """
            SELECT redemption_key, product_id, purchased_at, expires_at, state, state_signed_at, superseded_at
            FROM redemptions WHERE redemption_key >= $1 AND redemption_key < $2
            """, [start, String(start.dropLast()) + "0"]
        ).compactMap { row in
            let (key, signedAt) = (try row.string(0), try row.int64(5))
            guard let expiresAt = try row.optionalInt64(3), !key.dropFirst(start.count).contains("#") else {
                return nil
            }
            let isRevoked = try row.string(4) == State.revoked.rawValue
            return Subscription.Period(
                key: RedemptionKey(text: key), productID: ProductID(try row.string(1)), purchasedAt: try row.int64(2),
                expiresAt: expiresAt, endSignedAt: signedAt, upgradedAt: try row.optionalInt64(6),
                // The state counts against every statement that was signed before it.
                refund: isRevoked
                    ? .init(value: signedAt, signedAt: signedAt) : .init(value: nil, signedAt: signedAt - 1))
        }
    }

    // MARK: Lists

    private static let recordColumns = """
        redemption_key, user_id, product_id, transaction_id, original_transaction_id, quantity, grants, purchased_at,
        redeemed_at, expires_at, superseded_at, state, taken_back
        """

    /// Returns the purchases that a user has redeemed, the last redeemed first.
    static func records(
        of user: UserID, before cursor: TimeCursor?, limit: Int, _ connection: Connection
    ) throws -> [RedemptionRecord] {
        try connection.query(
            """
            SELECT \(recordColumns) FROM redemptions
            WHERE (redeemed_at, redemption_key) < ($1, $2) AND user_id = $4
            ORDER BY redeemed_at DESC, redemption_key DESC LIMIT $3
            """, [cursor?.time ?? Int64.max, cursor?.key ?? "", limit, user.rawValue]
        ).map { try record($0) }
    }

    /// Returns purchases by their key, the highest first, whether or not a user has redeemed them.
    /// - Parameter key: the key before which the list begins; nil for the first page.
    /// - Returns: the purchases. The user of one that nobody has redeemed is empty.
    static func records(before key: String?, limit: Int, _ connection: Connection) throws -> [RedemptionRecord] {
        let (range, bound): (String, [any SQLConvertible]) = key.map { ("redemption_key < $2", [$0]) } ?? ("true", [])
        return try connection.query(
            """
            SELECT \(recordColumns) FROM redemptions WHERE \(range) ORDER BY redemption_key DESC LIMIT $1
            """, [limit] + bound
        ).map { try record($0) }
    }

    /// The stores of the redemptions, as their keys name them; at most 100.
    static func anchors(_ connection: Connection) throws -> [String] {
        var anchors: [String] = []
        var after = ""
        // One look-up for each store.
        while anchors.count < 100,
            let key = try connection.queryOne(
                "SELECT min(redemption_key) FROM redemptions WHERE redemption_key > $1", [after])?.optionalString(0)
        {
            let anchor = String(key.prefix { $0 != "/" })
            guard !anchors.contains(anchor) else { break }
            anchors.append(anchor)
            // The character after the slash.
            after = anchor + "0"
        }
        return anchors
    }

    /// Returns the redemptions of a transaction's purchase.
    /// - Parameters:
    ///   - original: the original transaction.
    ///   - scope: the beginning of the keys.
    static func purchases(
        _ transactionID: String, _ original: String, in scope: String, _ connection: Connection
    ) throws -> [RedeemedPurchase] {
        let keys = RedemptionKey.keys(of: transactionID, original, in: scope)
        let places = keys.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let redeemed = try connection.query(
            """
            SELECT \(recordColumns), credited_user, credits FROM redemptions
            WHERE redemption_key IN (\(places)) AND user_id <> '' ORDER BY redemption_key
            """, keys)
        let first = RedemptionKey.periods(of: original, in: scope)
        let periods = try connection.query(
            """
            SELECT \(recordColumns), credited_user, credits FROM redemptions
            WHERE redemption_key > $1 AND redemption_key < $2 AND transaction_id = $3 AND user_id <> ''
            ORDER BY redemption_key LIMIT 50
            """, [first, String(first.dropLast()) + "0", transactionID])
        return try (redeemed + periods).map { row in
            let record = try record(row)
            let credits = try row.optionalString(14).map { try ProductCatalog.grants($0) } ?? record.grants
            var currencies = Set(record.takenBack.map(\.currency))
            for case .credits(let currency, _, _) in credits { currencies.insert(currency) }
            return RedeemedPurchase(
                record: record, creditedUser: try row.optionalString(13).map { UserID($0) } ?? record.userID,
                currencies: currencies)
        }
    }

    private static func record(_ row: Row) throws -> RedemptionRecord {
        let key = try row.string(0)
        let environment = RedemptionKey.environment(of: key)
        let taken =
            try row.optionalString(12).map { try JSONDecoder().decode([TakenCredits].self, from: Data($0.utf8)) } ?? []
        return RedemptionRecord(
            purchase: key, userID: UserID(try row.string(1)), productID: ProductID(try row.string(2)),
            transactionID: try row.string(3), originalTransactionID: try row.string(4), quantity: try row.int64(5),
            grants: try ProductCatalog.grants(try row.string(6)), purchasedAt: try row.int64(7),
            redeemedAt: try row.int64(8), expiresAt: try row.optionalInt64(9), supersededAt: try row.optionalInt64(10),
            state: State(rawValue: try row.string(11)) == .granted ? .granted : .revoked,
            takenBack: taken.filter { $0.amount > 0 }.map {
                Balance(currency: $0.currency, amount: $0.amount, environment: environment)
            }, environment: environment)
    }

    /// The time of a user's last redemption; nil for a user without one.
    static func lastRedemption(of user: String, _ connection: Connection) throws -> Int64? {
        try connection.queryOne("SELECT max(redeemed_at) FROM redemptions WHERE user_id = $1", [user])?
            .optionalInt64(0)
    }

    // MARK: Writing

    /// Inserts a redemption unless its key exists. Returns whether it was inserted.
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
            values: [
                .text(key), .text(user.rawValue), .text(purchase.productID.rawValue), .text(purchase.transactionID),
                .text(purchase.originalTransactionID), .integer(purchase.quantity), .text(plan.grantsJSON),
                .integer(purchase.purchasedAt), plan.expiresAt.sqlValue, .integer(now), .integer(purchase.signedAt),
            ]) == 1
    }

    /// Inserts a purchase that nobody has redeemed, unless its key exists.
    /// - Parameters:
    ///   - state: `open`, or `revoked` for a purchase that can no longer be redeemed.
    ///   - signedAt: the time at which the store signed its statement about the purchase.
    static func remember(
        _ purchase: VerifiedPurchase, key: RedemptionKey, expiresAt: Int64?, _ state: State, signedAt: Int64,
        at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                quantity, grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
            VALUES ($1, '', $2, $3, $4, $5, '[]', $6, $7, $8, $9, $10)
            ON CONFLICT (redemption_key) DO NOTHING
            """,
            [
                key.text, purchase.productID.rawValue, purchase.transactionID, purchase.originalTransactionID,
                purchase.quantity, purchase.purchasedAt, expiresAt, now, state.rawValue, signedAt,
            ])
    }

    /// Assigns a purchase that nobody has redeemed to a user. Returns false when another user was faster.
    static func claim(
        _ plan: RedemptionPlan, key: String, for user: UserID, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            UPDATE redemptions SET user_id = $2, grants = $3, redeemed_at = $4, state = 'granted', quantity = $5,
                expires_at = $6
            WHERE redemption_key = $1 AND user_id = '' AND state = 'open'
            """,
            [key, user.rawValue, plan.grantsJSON, now, plan.purchase.quantity, plan.expiresAt]) == 1
    }

    /// Moves a redemption to another user, who gets only its rights. Returns false when it has moved meanwhile.
    func transfer(_ rights: [ProductGrant], to owner: UserID, _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE redemptions SET user_id = $3, grants = $4, credited_user = $5, credits = $6
            WHERE redemption_key = $1 AND user_id = $2
            """,
            [
                key, userID.rawValue, owner.rawValue, try ProductCatalog.json(rights), creditedUser.rawValue,
                try ProductCatalog.json(credits),
            ]) == 1
    }

    /// Records the time of the store's latest statement, so that older statements are ignored.
    func sign(at signedAt: Int64, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE redemptions SET state_signed_at = $2 WHERE redemption_key = $1",
            [key, max(signedAt, stateSignedAt)])
    }

    /// Records a state by the store's latest statement, and the credits that are taken back in this state.
    func setState(
        _ state: State, signedAt: Int64, takenBack: [TakenCredits], _ connection: Connection
    ) throws {
        try connection.execute(
            """
            UPDATE redemptions SET state = $2, state_signed_at = $3, taken_back = $4 WHERE redemption_key = $1
            """, [key, state.rawValue, signedAt, takenBack.isEmpty ? nil : try TakenCredits.json(takenBack)])
    }

    /// Whether a user has redeemed a period of a subscription.
    /// - Parameter key: the subscription's key.
    static func hasPeriod(of key: String, _ user: UserID, _ connection: Connection) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM redemptions
            WHERE user_id = $1 AND CAST($2 AS TEXT) LIKE '%/s/' || original_transaction_id LIMIT 1
            """, [user.rawValue, key]) != nil
    }

    /// Records ``supersededAt`` and ``takenBack``.
    func keepSuperseded(_ connection: Connection) throws {
        try connection.execute(
            "UPDATE redemptions SET superseded_at = $2, taken_back = $3 WHERE redemption_key = $1",
            [key, supersededAt, takenBack.isEmpty ? nil : try TakenCredits.json(takenBack)])
    }

    /// Records the credits that were taken back from a redemption.
    static func setTakenBack(_ credits: [TakenCredits]?, of key: String, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE redemptions SET taken_back = $2 WHERE redemption_key = $1",
            [key, try credits.map(TakenCredits.json)])
    }
}
