import Database
import MerchantWire
import StoreWire

/// The users' consent to send consumption information to the store: the table `consumption_consents`.
enum ConsumptionConsents {
    /// The consent that a user last gave or withdrew; nil for a user who has done neither.
    static func find(_ user: UserID, _ connection: Connection) throws -> ConsumptionConsent? {
        try connection.queryOne(
            "SELECT is_given, changed_at FROM consumption_consents WHERE user_id = $1", [user.rawValue]
        ).map { ConsumptionConsent(userID: user, isGiven: try $0.bool(0), changedAt: try $0.int64(1)) }
    }

    /// Records a statement. The same statement as before keeps its date.
    static func set(_ user: UserID, _ isGiven: Bool, at now: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO consumption_consents (user_id, is_given, changed_at) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE SET is_given = excluded.is_given, changed_at = excluded.changed_at
            WHERE consumption_consents.is_given <> excluded.is_given
            """, [user.rawValue, isGiven, now])
    }
}
