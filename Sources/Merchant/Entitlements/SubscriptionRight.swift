import MerchantWire
import StoreWire

/// A user's right from a subscription. It follows the newest period that granted it to the user, and the
/// subscription's facts.
struct SubscriptionRight: Sendable, Equatable {
    /// The right of one user.
    struct Place: Hashable, Comparable, Sendable {
        var user: UserID
        var kind: String
        var name: String

        static func < (left: Place, right: Place) -> Bool {
            (left.user.rawValue, left.kind, left.name) < (right.user.rawValue, right.kind, right.name)
        }
    }

    var place: Place
    var productID: ProductID
    /// The start of the granting period.
    var startsAt: Int64
    var expiresAt: Int64
    var graceUntil: Int64?
    var revokedAt: Int64?
    /// The key of the granting period. Empty when there is none any longer, because the subscription has moved to
    /// another user, and for some rights of earlier programs.
    var grantedBy: String

    /// Whether another right takes the place of this one: a newer period grants it.
    func isReplaced(by other: SubscriptionRight, _ facts: Subscription) -> Bool {
        guard let new = facts[RedemptionKey(text: other.grantedBy)] else { return false }
        guard let period = period(facts) else { return revokedAt != nil || startsAt <= new.purchasedAt }
        return period.position < new.position
    }

    /// Updates the right by the subscription's facts.
    mutating func follow(_ facts: Subscription) {
        guard let period = period(facts), let access = facts.access(through: period.key) else { return }
        grantedBy = period.key.text
        productID = access.productID
        startsAt = period.purchasedAt
        (expiresAt, graceUntil, revokedAt) = (access.expiresAt, access.graceUntil, access.revokedAt)
    }

    /// The granting period. An earlier program did not always record it.
    private func period(_ facts: Subscription) -> Subscription.Period? {
        if !grantedBy.isEmpty { return facts[RedemptionKey(text: grantedBy)] }
        guard revokedAt == nil else { return nil }
        return facts.periods.last { $0.purchasedAt / 1_000 == startsAt / 1_000 && $0.productID == productID }
    }
}
