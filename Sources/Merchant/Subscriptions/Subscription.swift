import MerchantWire
import StoreWire

/// The merchant's facts about one subscription, which its original transaction identifies: the periods and their
/// refunds and grace periods, and whether the subscription renews.
///
/// This is a pure value. It knows no clock and no database. Receipts, signed transactions, answers of `verifyReceipt`
/// and notifications are all facts, which are merged in any order and any number of times with the same result: dates
/// that a store only moves one way keep the furthest one, and of two contradicting statements the one that was signed
/// last counts. Dates are milliseconds since 1970.
struct Subscription: Sendable, Equatable {
    /// A statement of the store that a later one replaces.
    struct Statement<Value: Sendable & Equatable>: Sendable, Equatable {
        var value: Value
        /// The time at which the store signed the statement.
        var signedAt: Int64

        /// Returns the statement that was signed last. Of two that were signed in the same millisecond, returns the one
        /// whose value precedes the other's.
        static func latest(_ left: Self?, _ right: Self?, _ precedes: (Value, Value) -> Bool) -> Self? {
            guard let left, let right else { return left ?? right }
            guard left.signedAt == right.signedAt else { return left.signedAt > right.signedAt ? left : right }
            return precedes(right.value, left.value) ? right : left
        }
    }

    /// The known periods, the newest last.
    private(set) var periods: [Period] = []
    /// Whether the subscription renews (`autoRenewStatus`).
    var willRenew: Statement<Bool>?
    /// The product that the next period is of (`autoRenewProductId`).
    var renewsAs: Statement<ProductID>?

    /// Creates a value with one known period, or without any.
    init(_ period: Period? = nil) { periods = period.map { [$0] } ?? [] }

    /// Adds the facts of another value.
    mutating func merge(_ other: Subscription) {
        for period in other.periods { merge(period) }
        willRenew = .latest(willRenew, other.willRenew) { !$0 && $1 }
        renewsAs = .latest(renewsAs, other.renewsAs) { $0.rawValue < $1.rawValue }
    }

    private mutating func merge(_ period: Period) {
        var period = period
        if let index = periods.firstIndex(where: { $0.key == period.key }) { period.merge(periods.remove(at: index)) }
        let place = periods.lastIndex { $0.position < period.position }.map { $0 + 1 } ?? 0
        periods.insert(period, at: place)
    }

    /// A known period.
    subscript(key: RedemptionKey) -> Period? { periods.last { $0.key == key } }

    /// Whether a period's purchase was refunded or revoked, and the store has not reversed that.
    func isRefunded(_ key: RedemptionKey) -> Bool { self[key]?.revokedAt != nil }

    /// The time at which the store signed its latest statement about renewal and the newest period's grace period.
    var statedAt: Int64 {
        [willRenew?.signedAt, renewsAs?.signedAt, periods.last?.grace?.signedAt].compactMap(\.self).max() ?? 0
    }
}

// MARK: - Access

extension Subscription {
    /// The access that a period gives its subscriber.
    struct Access: Sendable, Equatable {
        /// The product of the period.
        var productID: ProductID
        /// When the access ends, unless a grace period follows.
        var expiresAt: Int64
        /// When the grace period ends; nil without one.
        var graceUntil: Int64?
        /// The date of the refund that ended the access; nil without one.
        var revokedAt: Int64?

        /// The state at a date: whether the access is active, in the grace period, over or revoked.
        func state(at date: Int64) -> Entitlement.State {
            Right.state(expiresAt: expiresAt, graceUntil: graceUntil, revokedAt: revokedAt, at: date)
        }

        /// Whether the subscriber has the access at a date.
        func isUsable(at date: Int64) -> Bool {
            let state = state(at: date)
            return state == .active || state == .grace
        }
    }

    /// The access of the subscriber at a date; nil when there is none.
    ///
    /// It follows the newest period that has begun, as at the store: a refund of an earlier one changes nothing, and a
    /// refund of the newest one ends the access.
    func access(at date: Int64) -> Access? {
        guard let index = periods.lastIndex(where: { $0.purchasedAt <= date }) else { return nil }
        let access = access(ofPeriodAt: index)
        return access.isUsable(at: date) ? access : nil
    }

    /// The access through one period, for a subscriber who has no newer one; nil for an unknown period.
    func access(through key: RedemptionKey) -> Access? {
        periods.lastIndex { $0.key == key }.map { access(ofPeriodAt: $0) }
    }

    /// A period of another plan ends the access, as does a refund of the period that follows before this one is over.
    /// The grace period belongs to the newest period: a later one was paid.
    ///
    /// Rights in the database hold the result, and `merchant check` compares them with it, also when a backup is
    /// restored. A change of this rule therefore needs a migration that settles the rights anew.
    private func access(ofPeriodAt index: Int) -> Access {
        let period = periods[index]
        let next = periods[(index + 1)...].first { !$0.isCopy(of: period) }
        let change = periods[(index + 1)...].first { $0.productID != period.productID }
        var revokedAt = period.revokedAt
        if let next, next.productID == period.productID, next.purchasedAt < period.expiresAt {
            revokedAt = revokedAt ?? next.revokedAt
        }
        return Access(
            productID: period.productID, expiresAt: min(period.expiresAt, change?.purchasedAt ?? .max),
            graceUntil: next == nil ? period.grace?.value : nil, revokedAt: revokedAt)
    }
}

// MARK: - Changes of plan

extension Subscription {
    /// A period that was replaced before its end, for which the store refunds the rest of its price.
    struct Replacement: Sendable, Hashable {
        var key: RedemptionKey
        /// The start of the period.
        var start: Int64
        /// When the period would have ended.
        var end: Int64
        /// When another plan replaced it, or the earliest known time after that.
        var moment: Int64
    }

    /// The periods that were replaced before their end.
    var replacements: [Replacement] { periods.indices.compactMap { replacement(ofPeriodAt: $0) } }

    /// The replacements that another value of the same subscription does not have; all for nil.
    func replacements(missingIn other: Subscription?) -> [Replacement] {
        let known = Set(other?.replacements ?? [])
        return replacements.filter { !known.contains($0) }
    }

    /// The replacement of one period; nil when it was not replaced before its end.
    func replacement(of key: RedemptionKey) -> Replacement? {
        periods.lastIndex { $0.key == key }.flatMap { replacement(ofPeriodAt: $0) }
    }

    private func replacement(ofPeriodAt index: Int) -> Replacement? {
        let period = periods[index]
        return [period.upgradedAt, successorStart(ofPeriodAt: index)].compactMap(\.self).min().map {
            Replacement(key: period.key, start: period.purchasedAt, end: period.expiresAt, moment: $0)
        }
    }

    /// Whether a known later period replaced one before its end. The store reports this only in evidence that it signed
    /// afterwards.
    func hasSuccessor(_ key: RedemptionKey) -> Bool {
        periods.lastIndex { $0.key == key }.flatMap { successorStart(ofPeriodAt: $0) } != nil
    }

    /// The start of the period that replaced another one early. A refund from before ended the earlier period itself,
    /// even if the store has reversed the refund since.
    private func successorStart(ofPeriodAt index: Int) -> Int64? {
        let period = periods[index]
        guard let next = periods[(index + 1)...].first(where: { !$0.isCopy(of: period) }),
            period.isEarly(next.purchasedAt), !(period.refundedAt.map { $0 <= next.purchasedAt } ?? false)
        else { return nil }
        return next.purchasedAt
    }
}
