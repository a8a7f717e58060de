import Database
import MerchantWire
import StoreWire

/// Applies one notification inside one database transaction.
struct NotificationHandler {
    let notification: VerifiedNotification
    let purchase: VerifiedPurchase
    /// The transaction with the merchant's product; nil without a transaction.
    let item: RedemptionItem?
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    let settlement = Settlement()
    let connection: Connection

    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// The product's kind on the merchant's list; for an unlisted product, the kind that the store states.
    private var kind: ProductKind {
        if case .plan(let plan) = item { return plan.product.kind }
        return purchase.statedKind ?? .consumable
    }

    /// Applies the notification. Returns false for a type that has no effect here.
    func apply() throws -> Bool {
        if kind == .autoRenewableSubscription { try SubscriptionRow.lock(subscriptionKey, connection) }
        let isKnown = try perform()
        try settlement.finish(connection)
        return isKnown
    }

    private func perform() throws -> Bool {
        switch notification.type {
        case "SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE":
            try redeemForOwner()
            try setStatus(grace: .some(nil))
        case "OFFER_REDEEMED", "DID_CHANGE_RENEWAL_PREF":
            try redeemForOwner()
            // A plan that was chosen for the next period is not paid yet.
            let isPaid = ["UPGRADE", "INITIAL_BUY", "RESUBSCRIBE"].contains(notification.subtype)
            try setStatus(grace: isPaid ? .some(nil) : nil)
        case "RENEWAL_EXTENDED":
            try extend()
            try redeemForOwner()
        case "DID_CHANGE_RENEWAL_STATUS": try setStatus(grace: nil)
        case "DID_FAIL_TO_RENEW":
            let grace = notification.subtype == "GRACE_PERIOD" ? notification.renewal?.graceUntil : nil
            try setStatus(grace: .some(grace))
        case "GRACE_PERIOD_EXPIRED", "EXPIRED": try setStatus(grace: .some(nil))
        case "REFUND", "REVOKE": try revocation().revoke()
        case "REFUND_REVERSED": try revocation().reinstate()
        default: return false
        }
        return true
    }

    // MARK: Purchases

    /// Redeems the purchase for its owner. Without a known owner, the purchase waits until an app redeems it.
    private func redeemForOwner() throws {
        guard let item else { return }
        _ = try Redeemer(policy: policy, now: now, events: events, settlement: settlement, connection: connection)
            .redeem([item], for: .store)
    }

    private func extend() throws {
        guard let expiresAt = purchase.expiresAt else { return }
        guard let row = try SubscriptionRow.find(subscriptionKey, connection) else {
            // An app may redeem an older receipt of the subscription later.
            return try SubscriptionRow.insert(
                subscriptionKey, purchase, period: RedemptionKey(purchase, .period), expiresAt: expiresAt,
                for: UserID(""), connection)
        }
        // Another plan may have replaced the extended one.
        if !row.isAfter(purchase) {
            settlement.afterPostings {
                try Rights.extend(purchase, from: subscriptionKey, to: expiresAt, connection)
            }
        }
        try SubscriptionRow.extend(subscriptionKey, purchase, to: expiresAt, connection)
        guard !row.userID.rawValue.isEmpty else { return }
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    /// Records the subscription's state, unless a newer notification or a later period is known.
    /// - Parameter grace: the end of the grace period; nil to leave it unchanged.
    private func setStatus(grace: Int64??) throws {
        guard let row = try SubscriptionRow.find(subscriptionKey, connection),
            notification.signedAt >= row.statusSignedAt, !row.isAfter(purchase)
        else { return }
        let graceUntil = grace ?? row.graceUntil
        try SubscriptionRow.setStatus(
            subscriptionKey, notification.renewal, graceUntil: graceUntil, signedAt: notification.signedAt, connection)
        guard !row.userID.rawValue.isEmpty else { return }
        if grace != nil {
            settlement.afterPostings {
                try Rights.setGrace(row, from: subscriptionKey, until: graceUntil, connection)
            }
        }
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    /// The operation that revokes and reinstates the purchase.
    private func revocation() throws -> Revocation {
        Revocation(
            purchase: purchase, kind: kind, key: try knownKey(), signedAt: notification.signedAt, policy: policy,
            now: now, events: events, settlement: settlement, connection: connection)
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
