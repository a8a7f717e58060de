import Database
import MerchantWire
import StoreWire

/// Notes about users for the merchant's backend: the table `user_flags`.
enum UserFlags {
    /// Sets a flag, or changes its text.
    /// - Parameter reference: the redemption key of the purchase that the flag is about.
    static func set(
        _ user: UserID, _ reference: String, _ code: String, _ detail: String, at now: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, reference, code) DO UPDATE SET detail = excluded.detail,
                created_at = excluded.created_at
            """, [user.rawValue, reference, code, detail, now])
    }

    static func remove(_ user: UserID, _ reference: String, _ code: String, _ connection: Connection) throws {
        try connection.execute(
            "DELETE FROM user_flags WHERE user_id = $1 AND reference = $2 AND code = $3",
            [user.rawValue, reference, code])
    }

    /// Returns a user's latest 1,000 flags, oldest first.
    static func all(of user: UserID, _ connection: Connection) throws -> [UserFlag] {
        try connection.query(
            """
            SELECT code, detail, created_at FROM user_flags WHERE user_id = $1
            ORDER BY created_at DESC, reference DESC LIMIT 1000
            """, [user.rawValue]
        ).reversed().map { UserFlag(code: try $0.string(0), detail: try $0.string(1), createdAt: try $0.int64(2)) }
    }
}
