import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// The most names or purchases that a page looks at.
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

    /// Returns a page of the purchases that all users have redeemed, by the purchase's key, the highest first: of each
    /// store, environment, app and kind, the newest purchase first. A list by the time of the redemption would cost
    /// each redemption an index.
    ///
    /// A page looks at 1,000 purchases, also those that nobody has redeemed, and may be short although there are more.
    /// - Parameters:
    ///   - before: ``RedemptionRecordList/next`` of the previous page; nil for the first page.
    ///   - limit: the most purchases, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request`.
    public func redemptions(
        before: String? = nil, limit: Int = MerchantLimits.usualPage
    ) async throws -> RedemptionRecordList {
        guard before?.utf8.contains(0) != true else { throw Self.invalidBefore }
        let limit = min(max(limit, 1), MerchantLimits.page)
        return try await database.read { connection in
            var (list, last, looked) = (RedemptionRecordList(redemptions: [], next: nil), before, 0)
            while looked < Self.namesLookedAt {
                let rows = try RedemptionRow.records(before: last, limit: limit, connection)
                for row in rows {
                    looked += 1
                    last = row.purchase
                    if !row.userID.rawValue.isEmpty { list.redemptions.append(row) }
                    if list.redemptions.count == limit { break }
                }
                guard list.redemptions.count < limit else { break }
                guard rows.count == limit else { return list }
            }
            // Another page follows if there is another purchase.
            if try !RedemptionRow.records(before: last, limit: 1, connection).isEmpty { list.next = last }
            return list
        }
    }

    static let invalidBefore = MerchantError(
        .invalidRequest, "Invalid “before”. Expected the “next” of the page before.")

    /// Returns a page of a user's redeemed purchases, the last redeemed first.
    /// - Parameters:
    ///   - before: ``RedemptionRecordList/next`` of the previous page; nil for the first page.
    ///   - limit: the most purchases, 1 to ``MerchantLimits/page``.
    /// - Throws: ``MerchantError`` `invalid_request`, `name_not_normalized`.
    public func redemptions(
        of user: UserID, before: String? = nil, limit: Int = MerchantLimits.usualPage
    ) async throws -> RedemptionRecordList {
        try Self.checkName(user.rawValue)
        let limit = min(max(limit, 1), MerchantLimits.page)
        let cursor = try before.map { text in
            guard let cursor = TimeCursor(text) else { throw Self.invalidBefore }
            return cursor
        }
        var records = try await database.read {
            try RedemptionRow.records(of: user, before: cursor, limit: limit + 1, $0)
        }
        let hasMore = records.count > limit
        if hasMore { records.removeLast() }
        return RedemptionRecordList(
            redemptions: records,
            next: hasMore ? records.last.map { TimeCursor(time: $0.redeemedAt, key: $0.purchase).text } : nil)
    }
}

/// A place in a list by time, the newest first.
struct TimeCursor: Sendable, Equatable {
    /// Milliseconds since 1970.
    var time: Int64
    /// The key that orders the rows of one time.
    var key: String

    var text: String { "\(time)-\(key)" }
}

extension TimeCursor {
    /// Reads ``text``; nil for another text.
    init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-"), let time = Int64(text[..<dash]), time >= 0,
            !text.utf8.contains(0)
        else { return nil }
        self.init(time: time, key: String(text[text.index(after: dash)...]))
    }
}
