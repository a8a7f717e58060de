import Database
import StoreWire

/// A family of accounts of one environment, which share purchases: an organizer, and up to five other members. An
/// account is in one family at most.
public struct Family: Sendable, Equatable {
    /// A member of a family.
    public struct Member: Sendable, Equatable {
        /// The account.
        public var accountID: AccountID
        /// Whether the other members get what this one buys.
        public var shares: Bool
        /// When the account joined, in milliseconds since 1970 by the store's clock.
        public var joinedAt: Int64
    }

    /// The most members beside the organizer (Apple's limit).
    public static let mostOthers = 5

    /// The account that organizes the family.
    public var organizerID: AccountID
    /// The members in the order in which they joined, the organizer first.
    public var members: [Member]
}

/// The table `family_members`.
enum Families {
    /// The family of an account, organizer or not; nil when it is in none.
    static func find(of accountID: AccountID, _ connection: Connection) throws -> Family? {
        let rows = try connection.query(
            """
            SELECT organizer_id, account_id, shares, joined_at FROM family_members
            WHERE organizer_id = (SELECT organizer_id FROM family_members WHERE account_id = $1)
            ORDER BY joined_at, account_id
            """, [accountID.rawValue])
        guard let organizer = try rows.first?.string(0) else { return nil }
        let members = try rows.map { row in
            Family.Member(
                accountID: AccountID(try row.string(1)), shares: try row.bool(2), joinedAt: try row.int64(3))
        }
        let organizerID = AccountID(organizer)
        return Family(
            organizerID: organizerID,
            members: members.filter { $0.accountID == organizerID } + members.filter { $0.accountID != organizerID })
    }

    /// The organizers of families after an identifier, in the order of their identifiers.
    static func organizers(after: AccountID?, limit: Int, _ connection: Connection) throws -> [AccountID] {
        try connection.query(
            """
            SELECT DISTINCT organizer_id FROM family_members WHERE organizer_id > $1
            ORDER BY organizer_id LIMIT $2
            """, [after?.rawValue ?? "", limit]
        ).map { AccountID(try $0.string(0)) }
    }

    /// Those of the accounts that are in a family.
    static func members(among accounts: [AccountID], _ connection: Connection) throws -> Set<AccountID> {
        let rows = try connection.query(portionsOf: accounts.map(\.rawValue)) { places in
            "SELECT account_id FROM family_members WHERE account_id IN (\(places))"
        }
        return Set(try rows.map { AccountID(try $0.string(0)) })
    }

    /// The members who get what an account buys: the others of its family, unless it does not share.
    static func receivers(from accountID: AccountID, _ connection: Connection) throws -> [AccountID] {
        try connection.query(
            """
            SELECT other.account_id FROM family_members buyer
            JOIN family_members other ON other.organizer_id = buyer.organizer_id
            WHERE buyer.account_id = $1 AND buyer.shares = TRUE AND other.account_id <> $1
            ORDER BY other.joined_at, other.account_id
            """, [accountID.rawValue]
        ).map { AccountID(try $0.string(0)) }
    }

    /// Adds an account to the organizer's family, or the organizer itself. Returns false when it is in a family.
    static func add(
        _ accountID: AccountID, to organizerID: AccountID, at date: Int64, _ connection: Connection
    ) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO family_members (account_id, organizer_id, shares, joined_at) VALUES ($1, $2, TRUE, $3)
            ON CONFLICT DO NOTHING
            """, [accountID.rawValue, organizerID.rawValue, date]) > 0
    }

    static func remove(_ accountID: AccountID, _ connection: Connection) throws {
        try connection.execute("DELETE FROM family_members WHERE account_id = $1", [accountID.rawValue])
    }

    static func setSharing(_ isOn: Bool, of accountID: AccountID, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE family_members SET shares = $2 WHERE account_id = $1", [accountID.rawValue, isOn])
    }
}
