import Database
import MerchantWire
import StoreWire

/// The effect of a notification on the books, by its type.
enum NotificationEffect: Sendable {
    /// A purchase was refunded or is no longer shared.
    case refund
    /// A refund was reversed.
    case reversal
    /// A purchase was made or renewed, or changed.
    case purchase
    /// Something became known about the renewal of a subscription.
    case renewal
    /// The store asks what was consumed of a purchase, because its customer asks for a refund.
    case consumption

    /// The subtypes of notifications about some of a subscription's seats. The transaction stays valid for the others:
    /// a refund with `SEATS` revokes no access.
    private static let seats: Set<String> = ["SEATS", "INCREASE_QUANTITY", "DECREASE_QUANTITY"]

    /// Creates the effect of a type (`notificationType`) and a subtype. Returns nil for those that have no effect here.
    init?(type: String, subtype: String?) {
        if let subtype, Self.seats.contains(subtype) { return nil }
        switch type {
        case "REFUND", "REVOKE": self = .refund
        case "REFUND_REVERSED": self = .reversal
        case "SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE", "OFFER_REDEEMED", "DID_CHANGE_RENEWAL_PREF",
            "RENEWAL_EXTENDED":
            self = .purchase
        case "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "PRICE_INCREASE":
            self = .renewal
        case "CONSUMPTION_REQUEST": self = .consumption
        default: return nil
        }
    }
}

/// Applies one notification inside one database transaction.
struct NotificationHandler {
    let notification: VerifiedNotification
    let purchase: VerifiedPurchase
    /// The transaction with the merchant's product; nil without a transaction.
    let item: RedemptionItem?
    let policy: MerchantPolicy
    let times: BookTimes
    let events: EventWriter
    let settlement = Settlement()
    /// Whether the user is told only when the notification says something new of the subscription.
    var tellsChangesOnly = false
    let connection: Connection

    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// The product's kind on the merchant's list; for an unlisted product, the kind that the store states.
    private var kind: ProductKind {
        if case .plan(let plan) = item { return plan.kind }
        return purchase.statedKind ?? .consumable
    }

    /// Applies the notification.
    /// - Returns: the purchase that the notification reports, if it was refused. One that is over or refunded is not:
    ///   there was nothing to grant.
    @discardableResult
    func apply(_ effect: NotificationEffect) throws -> RefusedTransaction? {
        if kind == .autoRenewableSubscription { try SubscriptionRow.lock(subscriptionKey, connection) }
        let refused = try perform(effect)
        try settlement.finish(connection)
        guard let refused, refused.code != .expired, refused.code != .revoked else { return nil }
        return refused
    }

    private func perform(_ effect: NotificationEffect) throws -> RefusedTransaction? {
        switch effect {
        case .refund:
            try recordRefund(isReversal: false)
            try revocation().revoke()
            if try known.map({ !$0.facts.isRefunded(try knownKey()) }) ?? false { try redeemIfNew() }
        case .reversal:
            try recordRefund(isReversal: true)
            try revocation().reinstate()
            // The purchase may have arrived while it was refunded.
            try redeemIfNew()
        case .purchase: return try applyNews { try redeemForOwner() }
        // The news of the transaction's purchase may come later.
        case .renewal: try applyNews { try redeemIfNew() }
        case .consumption:
            if let call = try consumptionCall() { try StoreCalls.insert(call, at: times.machine, connection) }
        }
        return nil
    }

    /// The answer to the store's question about consumption; nil when the merchant does not answer.
    func consumptionCall() throws -> StoreCall? {
        // The purchase may not be known yet. Then it has no key in the books, and the search for one changes nothing.
        let key: RedemptionKey
        if case .plan(var plan) = item {
            try plan.recall(connection)
            key = plan.key
        } else {
            key = RedemptionKey(purchase, kind: kind)
        }
        return try StoreCall.consumption(
            of: purchase, key, askedBy: notification.notificationID, policy, at: times.machine, connection)
    }

    @discardableResult
    private func applyNews(_ redeem: () throws -> RefusedTransaction?) throws -> RefusedTransaction? {
        let before = try known?.facts
        let statedAt = before?.statedAt ?? 0
        let refused = try redeem()
        if tellsChangesOnly, let before, let after = try known?.facts, after.saysTheSame(as: before) { return refused }
        if notification.signedAt >= statedAt || notification.type == "RENEWAL_EXTENDED" { try tellUser() }
        return refused
    }

    /// The subscription of the purchase; nil when the purchase has none or it is not known.
    private var known: SubscriptionRow? {
        get throws {
            guard kind == .autoRenewableSubscription else { return nil }
            return try settlement.subscription(subscriptionKey, connection)
        }
    }

    // MARK: Purchases

    private var redeemer: Redeemer {
        Redeemer(policy: policy, times: times, events: events, settlement: settlement, connection: connection)
    }

    /// Redeems the purchase for its owner, with the news. Without a known owner, the purchase waits until an app
    /// redeems it.
    /// - Returns: the refused purchase; nil when it was redeemed or waits.
    private func redeemForOwner() throws -> RefusedTransaction? {
        var items = item.map { [$0] } ?? []
        if case .plan(var plan) = item {
            plan.statement = RenewalStatement(notification)
            items = [.plan(plan)]
        } else {
            try recordNews()
        }
        return try redeemer.redeem(items, for: .store).refused.first
    }

    /// Redeems the purchase for its owner, unless somebody has redeemed it, and records the news.
    /// - Returns: as ``redeemForOwner()``.
    @discardableResult
    private func redeemIfNew() throws -> RefusedTransaction? {
        let isRedeemed = try RedemptionRow.find(try knownKey().text, connection).map { $0.userID != "" } ?? false
        guard isRedeemed else { return try redeemForOwner() }
        try recordNews()
        return nil
    }

    private func recordNews() throws {
        guard kind == .autoRenewableSubscription else { return }
        try redeemer.record(
            Subscription(purchase, try knownKey(), RenewalStatement(notification)), about: purchase)
    }

    private func recordRefund(isReversal: Bool) throws {
        guard kind == .autoRenewableSubscription else { return }
        let facts = Subscription(
            refundOf: purchase, try knownKey(), isReversal: isReversal, signedAt: notification.signedAt)
        try redeemer.record(facts, about: purchase)
    }

    /// Writes an event for the subscription's user, unless a later period is known.
    private func tellUser() throws {
        guard let row = try known, !row.userID.rawValue.isEmpty, !row.isAfter(try knownKey()) else { return }
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    /// The operation that revokes and reinstates the purchase.
    private func revocation() throws -> Revocation {
        Revocation(
            purchase: purchase, kind: kind, key: try knownKey(), signedAt: notification.signedAt, policy: policy,
            times: times, events: events, settlement: settlement, connection: connection)
    }

    /// The purchase's redemption key. A product that is not on the list may have been listed before, with any kind.
    private func knownKey() throws -> RedemptionKey {
        if case .plan(var plan) = item {
            try plan.recall(connection)
            return plan.key
        }
        let key = RedemptionKey(purchase, kind: kind)
        let others = Set(RedemptionKey.Identity.allCases).subtracting([RedemptionKey.Identity(kind)])
        let known = try ([key] + RedemptionKey.former(purchase, others)).first {
            try RedemptionRow.find($0.text, connection) != nil
        }
        // If the product is listed later with another kind, the purchase must be found under this kind too.
        if known == nil { try ProductKinds.add(kind, of: purchase.productID, connection) }
        return known ?? key
    }
}
