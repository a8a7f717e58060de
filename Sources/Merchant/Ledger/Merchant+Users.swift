import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// The most names that a page looks at.
    private static let namesLookedAt = 1_000

    /// Returns a page of the users who have ledger entries, rights or redeemed purchases, by name. Reads a few rows for
    /// each user of the page, however many users there are.
    ///
    /// Names are in the order of the database: that of their bytes, unless a PostgreSQL database has another collation.
    /// Then names that start with the text need not stand together. A page looks at 1,000 names and may be short
    /// although there are more.
    /// - Parameters:
    ///   - start: the beginning of the names; empty for all users.
    ///   - after: ``UserList/next`` of the previous page; nil for the first page.
    ///   - limit: the most users, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func users(
        startingWith start: String = "", after: UserID? = nil, limit: Int = MerchantLimits.usualPage
    ) async throws -> UserList {
        if !start.isEmpty { try Self.checkName(start) }
        if let after { try Self.checkName(after.rawValue) }
        let limit = min(max(limit, 1), MerchantLimits.page)
        return try await database.read { connection in
            let isByBytes = try UserNames.areInOrderOfBytes(connection)
            let isBeforeStart =
                isByBytes && after?.rawValue.utf8.lexicographicallyPrecedes(start.utf8) ?? true
            var next =
                if let after, !isBeforeStart { try UserNames.first(after: after.rawValue, connection) } else {
                    try UserNames.first(from: start, connection)
                }
            var users: [UserSummary] = []
            var last: String?
            for _ in 0..<Self.namesLookedAt {
                guard let name = next else { return UserList(users: users, next: nil) }
                if name.utf8.starts(with: start.utf8) {
                    guard users.count < limit else { break }
                    let time = try RedemptionRow.lastRedemption(of: name, connection)
                    users.append(UserSummary(userID: UserID(name), lastRedeemedAt: time))
                } else if isByBytes {
                    return UserList(users: users, next: nil)
                }
                last = name
                next = try UserNames.first(after: name, connection)
            }
            return UserList(users: users, next: last.map { UserID($0) })
        }
    }

    /// Returns a page of redeemed purchases, the last redeemed first.
    /// - Parameters:
    ///   - user: the only user whose purchases are listed; nil for all.
    ///   - before: ``RedemptionRecordList/next`` of the previous page; nil for the first page.
    ///   - limit: the most purchases, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func redemptions(
        of user: UserID? = nil, before: String? = nil, limit: Int = MerchantLimits.usualPage
    ) async throws -> RedemptionRecordList {
        if let user { try Self.checkName(user.rawValue) }
        let limit = min(max(limit, 1), MerchantLimits.page)
        let cursor = try before.map { text in
            guard let cursor = RedemptionCursor(text) else {
                throw MerchantError(
                    .invalidRequest, "Invalid “before”. Expected the “next” of the page before.")
            }
            return cursor
        }
        var records = try await database.read {
            try RedemptionRow.records(of: user, before: cursor, limit: limit + 1, $0)
        }
        let hasMore = records.count > limit
        if hasMore { records.removeLast() }
        return RedemptionRecordList(
            redemptions: records, next: hasMore ? records.last.map { RedemptionCursor($0).text } : nil)
    }
}

/// A place in a list of redeemed purchases.
struct RedemptionCursor: Sendable, Equatable {
    var redeemedAt: Int64
    var key: String

    init(_ record: RedemptionRecord) { (redeemedAt, key) = (record.redeemedAt, record.purchase) }

    /// Reads ``text``; nil for another text.
    init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-"), let time = Int64(text[..<dash]), time >= 0,
            !text.utf8.contains(0)
        else { return nil }
        (redeemedAt, key) = (time, String(text[text.index(after: dash)...]))
    }

    var text: String { "\(redeemedAt)-\(key)" }
}
