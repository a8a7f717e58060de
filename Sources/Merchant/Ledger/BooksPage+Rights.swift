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

    /// Checks a page of rights:
    /// - each active right comes from a redeemed purchase of its user,
    /// - each right with a lifetime ends when its purchases say,
    /// - each right of a subscription equals the right that the subscription's periods give.
    ///
    /// The check reads no clock, so it finds the same at any time and on any machine.
    /// - Returns: the findings, and the key after which the next page begins; nil after the last page.
    static func proveRights(
        after last: RightKey, limit: Int, _ connection: Connection
    ) throws -> (findings: [String], last: RightKey?) {
        let rows = try Rights.page(after: last, limit: limit, connection)
        var findings: [String] = []
        var chains: Set<TimedRight.Chain> = []
        var subscriptions: [String: SubscriptionRow] = [:]
        for right in rows {
            if right.lifetime != nil { chains.insert(right.chain) }
            let subscription = try subscriptions[right.source] ?? SubscriptionRow.find(right.source, connection)
            subscriptions[right.source] = subscription
            let name = "\(right.chain.user)/\(right.chain.name)"
            if try !right.isGranted(subscription, connection) {
                findings.append("\(name): no redeemed purchase grants it (\(right.source))")
            } else if let subscription, !right.follows(subscription) {
                findings.append("\(name): it does not follow from the periods of its subscription (\(right.source))")
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
    var productID: ProductID
    var startsAt: Int64
    var graceUntil: Int64?

    /// Whether a purchase gives the right to the user. A revoked right needs no purchase.
    /// - Parameter subscription: the subscription that is the right's source; nil for another source.
    fileprivate func isGranted(_ subscription: SubscriptionRow?, _ connection: Connection) throws -> Bool {
        if revokedAt != nil { return true }
        if let subscription { return try isGranted(to: subscription.userID, connection) }
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

    /// Whether the right is the one that follows from its subscription's facts: a refund revokes it, and it ends with
    /// its period. An earlier program kept no periods, and not always the period that granted a right.
    fileprivate func follows(_ subscription: SubscriptionRow) -> Bool {
        guard !subscription.isEarlier, let expiresAt, let grantedBy, !grantedBy.isEmpty else { return true }
        let right = SubscriptionRight(
            place: .init(user: chain.user, kind: chain.kind, name: chain.name), productID: productID,
            startsAt: startsAt, expiresAt: expiresAt, graceUntil: graceUntil, revokedAt: revokedAt,
            grantedBy: grantedBy)
        var followed = right
        followed.follow(subscription.facts)
        return followed == right
    }

    private func isAmong(_ grants: [ProductGrant]) -> Bool {
        grants.contains { grant in
            guard let right = Right(grant), right.kind == chain.kind, right.name == chain.name else { return false }
            if case .entitlement(_, let seconds?) = grant { return lifetime == seconds * 1_000 }
            return lifetime == nil
        }
    }
}
