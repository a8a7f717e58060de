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
    /// with a lifetime ends at the time that follows from its purchases. No clock counts: books that were proved once
    /// stay so, on any machine and whatever time it has.
    /// - Returns: the findings, and the key after which the next page begins; nil after the last page.
    static func proveRights(
        after last: RightKey, limit: Int, _ connection: Connection
    ) throws -> (findings: [String], last: RightKey?) {
        let rows = try Rights.page(after: last, limit: limit, connection)
        var findings: [String] = []
        var chains: Set<TimedRight.Chain> = []
        for right in rows {
            if right.lifetime != nil { chains.insert(right.chain) }
            if try !right.isGranted(connection) {
                findings.append(
                    "\(right.chain.user)/\(right.chain.name): no redeemed purchase grants it (\(right.source))")
            }
        }
        // A chain that began on the page before was checked with that page.
        for chain in chains.subtracting([last.chain]).sorted() {
            let rights = try Rights.timed(of: chain, endingFrom: .min, connection)
            guard let first = rights.first, TimedRight.chained(rights, from: first.position) != rights else { continue }
            findings.append("\(chain.user)/\(chain.name): its end does not follow from its purchases")
        }
        let end = rows.last.map {
            RightKey(user: $0.chain.user.rawValue, kind: $0.chain.kind, name: $0.chain.name, source: $0.source)
        }
        return (findings, rows.count == limit ? end : nil)
    }
}

/// A right as it is recorded, for the audit.
struct StandingRight {
    var chain: TimedRight.Chain
    var source: String
    var expiresAt: Int64?
    var revokedAt: Int64?
    var lifetime: Int64?
    var grantedBy: String?

    /// Whether a purchase gives the right to the user. A revoked right needs no purchase.
    fileprivate func isGranted(_ connection: Connection) throws -> Bool {
        if revokedAt != nil { return true }
        if let subscriber = try SubscriptionRow.user(source, connection) {
            return try isGranted(to: subscriber, connection)
        }
        return try RedemptionKey(text: source).places(RedemptionKey.mostPlaces).contains { place in
            guard let row = try RedemptionRow.find(place, connection) else { return false }
            return row.state == .granted && row.userID == chain.user && isAmong(row.grants)
                && (row.expiresAt == nil || expiresAt != nil)
        }
    }

    private func isGranted(to subscriber: UserID, _ connection: Connection) throws -> Bool {
        guard expiresAt != nil, lifetime == nil, let grantedBy else { return false }
        // An earlier program did not record the period that gave the right.
        if grantedBy.isEmpty {
            return try subscriber == chain.user
                || Rights.isTransferred(source, to: chain.user, connection)
                || RedemptionRow.hasPeriod(of: source, chain.user, connection)
        }
        // A family member may have redeemed the period before the subscription's user.
        let redemptions = try RedemptionKey(text: grantedBy).places(RedemptionKey.mostPlaces).compactMap {
            try RedemptionRow.find($0, connection)
        }
        guard redemptions.contains(where: { isAmong($0.grants) }) else { return false }
        if subscriber == chain.user || redemptions.contains(where: { $0.userID == chain.user }) { return true }
        return try Rights.isTransferred(source, to: chain.user, connection)
    }

    private func isAmong(_ grants: [ProductGrant]) -> Bool {
        grants.contains { grant in
            guard let right = Right(grant), right.kind == chain.kind, right.name == chain.name else { return false }
            if case .entitlement(_, let seconds?) = grant { return lifetime == seconds * 1_000 }
            return lifetime == nil
        }
    }
}
