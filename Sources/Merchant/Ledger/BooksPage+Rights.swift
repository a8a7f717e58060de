import Database
import MerchantWire
import StoreWire

extension BooksPage {
    /// The key of a right, at which a page ends.
    struct RightKey: Sendable {
        var user: String
        var kind: String
        var name: String
        var source: String

        static let first = RightKey(user: "", kind: "", name: "", source: "")

        var chain: TimedRight.Chain { TimedRight.Chain(user: UserID(user), kind: kind, name: name) }
    }

    /// Checks a page of rights. A redeemed purchase granted each active right to the user who has it, and each right
    /// with a lifetime ends at the time that follows from its purchases.
    /// - Returns: the findings, and the key after which the next page begins; nil after the last page.
    static func proveRights(
        after last: RightKey, limit: Int, at now: Int64, _ connection: Connection
    ) throws -> (findings: [String], last: RightKey?) {
        let rows = try connection.query(
            """
            SELECT user_id, kind, name, source, expires_at, revoked_at, lifetime, granted_by FROM entitlements
            WHERE (user_id, kind, name, source) > ($1, $2, $3, $4) ORDER BY user_id, kind, name, source LIMIT $5
            """, [last.user, last.kind, last.name, last.source, limit]
        ).map { try StandingRight($0) }
        var findings: [String] = []
        var chains: Set<TimedRight.Chain> = []
        for right in rows {
            if right.lifetime != nil { chains.insert(right.chain) }
            if try !right.isGranted(at: now, connection) {
                findings.append(
                    "\(right.chain.user)/\(right.chain.name): no redeemed purchase grants it (\(right.source))")
            }
        }
        // A chain that began on the page before was checked with that page.
        for chain in chains.subtracting([last.chain]).sorted() {
            let rights = try TimedRight.all(of: chain, endingFrom: .min, connection)
            guard let first = rights.first, TimedRight.chained(rights, from: first.position) != rights else { continue }
            findings.append("\(chain.user)/\(chain.name): its end does not follow from its purchases")
        }
        let end = rows.last.map {
            RightKey(user: $0.chain.user.rawValue, kind: $0.chain.kind, name: $0.chain.name, source: $0.source)
        }
        return (findings, rows.count == limit ? end : nil)
    }
}

/// A row of the table `entitlements`.
private struct StandingRight {
    var chain: TimedRight.Chain
    var source: String
    var expiresAt: Int64?
    var revokedAt: Int64?
    var lifetime: Int64?
    var grantedBy: String?

    init(_ row: Row) throws {
        chain = TimedRight.Chain(
            user: UserID(try row.string(0)), kind: try row.string(1), name: try row.string(2))
        source = try row.string(3)
        expiresAt = try row.optionalInt64(4)
        revokedAt = try row.optionalInt64(5)
        lifetime = try row.optionalInt64(6)
        grantedBy = try row.optionalString(7)
    }

    /// Whether a purchase gives the right to the user. A revoked right needs no purchase; one with a revocation date in
    /// the future is still in force.
    func isGranted(at now: Int64, _ connection: Connection) throws -> Bool {
        if let revokedAt, revokedAt <= now { return true }
        if let subscription = try SubscriptionRow.find(source, connection) {
            return try isGranted(by: subscription, connection)
        }
        return try RedemptionKey(text: source).places(RedemptionKey.mostPlaces).contains { place in
            guard let row = try RedemptionRow.find(place, connection) else { return false }
            return row.state == .granted && row.userID == chain.user && isAmong(row.grants)
                && (row.expiresAt == nil || expiresAt != nil)
        }
    }

    private func isGranted(by subscription: SubscriptionRow, _ connection: Connection) throws -> Bool {
        guard expiresAt != nil, lifetime == nil, let grantedBy else { return false }
        // An earlier program did not record the period that gave the right.
        if grantedBy.isEmpty {
            return try subscription.userID == chain.user || isTransferred(connection) || hasRedeemed(connection)
        }
        // A family member may have redeemed the period before the subscription's user.
        let redemptions = try RedemptionKey(text: grantedBy).places(RedemptionKey.mostPlaces).compactMap {
            try RedemptionRow.find($0, connection)
        }
        guard redemptions.contains(where: { isAmong($0.grants) }) else { return false }
        if subscription.userID == chain.user || redemptions.contains(where: { $0.userID == chain.user }) { return true }
        return try isTransferred(connection)
    }

    private func isTransferred(_ connection: Connection) throws -> Bool {
        try connection.queryOne(
            "SELECT 1 FROM transferred_rights WHERE source = $1 AND user_id = $2", [source, chain.user.rawValue]) != nil
    }

    /// Whether the user has redeemed a period of the subscription.
    private func hasRedeemed(_ connection: Connection) throws -> Bool {
        try connection.queryOne(
            """
            SELECT 1 FROM redemptions
            WHERE user_id = $1 AND CAST($2 AS TEXT) LIKE '%/s/' || original_transaction_id LIMIT 1
            """, [chain.user.rawValue, source]) != nil
    }

    private func isAmong(_ grants: [ProductGrant]) -> Bool {
        grants.contains { grant in
            guard let right = Right(grant), right.kind == chain.kind, right.name == chain.name else { return false }
            if case .entitlement(_, let seconds?) = grant { return lifetime == seconds * 1_000 }
            return lifetime == nil
        }
    }
}
