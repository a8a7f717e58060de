import Database

/// The names of the users who have ledger entries, rights or redeemed purchases. There is no table of users: a user is
/// whoever a token names.
enum UserNames {
    /// The first name after another one; nil when it is the last.
    static func first(after name: String, _ connection: Connection) throws -> String? {
        try first("user_id > $1", name, connection)
    }

    /// The first name from a text on; nil when there is none.
    static func first(from start: String, _ connection: Connection) throws -> String? {
        // The user of a purchase that nobody has redeemed is empty.
        try start.isEmpty ? first(after: start, connection) : first("user_id >= $1", start, connection)
    }

    private static func first(_ condition: String, _ name: String, _ connection: Connection) throws -> String? {
        // One look-up in each index.
        try connection.queryOne(
            """
            SELECT min(user_id) FROM (
                SELECT min(user_id) AS user_id FROM ledger_entries WHERE \(condition)
                UNION ALL SELECT min(user_id) FROM entitlements WHERE \(condition)
                UNION ALL SELECT min(user_id) FROM redemptions WHERE \(condition)) AS firsts
            """, [name])?.optionalString(0)
    }

    /// Whether the database compares texts by their bytes.
    static func areInOrderOfBytes(_ connection: Connection) throws -> Bool {
        try connection.queryOne("SELECT CASE WHEN 'B' < 'a' THEN 1 ELSE 0 END")?.int64(0) == 1
    }
}
