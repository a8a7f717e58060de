import Database
import MerchantWire
import StoreWire

/// Applies one notification inside one database transaction.
struct NotificationHandler {
    let notification: VerifiedNotification
    let purchase: VerifiedPurchase
    /// What the merchant makes of the transaction.
    let item: RedemptionItem?
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    let settlement = Settlement()
    let connection: Connection

    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// What kind of product it is: as the merchant sells it, else as the store says.
    private var kind: ProductKind {
        if case .plan(let plan) = item { return plan.product.kind }
        return purchase.statedKind ?? .consumable
    }

    /// False for what changes nothing here.
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
            // What is chosen for the next period pays nothing now.
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

    /// Redeems for whom the subscription belongs to, or whom the purchase names where that is not settled. Without either it waits for the app.
    private func redeemForOwner() throws {
        guard case .plan(var plan) = item else { return }
        try plan.recall(connection)
        let row = try SubscriptionRow.find(subscriptionKey, connection)
        var owner = row?.userID ?? ""
        if owner == "" || row?.isBoughtAnew(by: purchase) == true, let token = purchase.accountToken {
            let named = try AccountToken.owner(token, connection)
            // Whose it was is known by that name, though the merchant knows the name of nobody.
            let isSame = row?.accountToken?.hasSameBytes(as: token) ?? false
            if let row, named == nil, owner != "", !purchase.names(owner), !isSame {
                return try redeemer.unassign(plan, row)
            }
            owner = named ?? owner
        }
        guard !owner.rawValue.isEmpty else { return }
        _ = try redeemer.redeem(plan, try SubscriptionRow.find(of: plan, connection), ownedBy: owner, askedBy: owner)
    }

    private var redeemer: Redeemer {
        Redeemer(policy: policy, now: now, events: events, settlement: settlement, connection: connection)
    }

    private func extend() throws {
        guard let expiresAt = purchase.expiresAt else { return }
        guard let row = try SubscriptionRow.find(subscriptionKey, connection) else {
            // The app may bring a receipt of before.
            return try SubscriptionRow.insert(
                subscriptionKey, purchase, period: RedemptionKey(purchase, .period), expiresAt: expiresAt,
                for: UserID(""), connection)
        }
        // Another plan may have taken the place of the one that is made longer.
        if purchase.purchasedAt >= row.purchasedAt {
            settlement.afterPostings {
                try Rights.extend(purchase, from: subscriptionKey, to: expiresAt, connection)
            }
        }
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $2
            WHERE subscription_key = $1 AND purchased_at = $3 AND expires_at < $2
            """, [subscriptionKey, expiresAt, purchase.purchasedAt])
        guard !row.userID.rawValue.isEmpty else { return }
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    /// Writes down how the subscription stands, unless something newer is known, or a later period.
    /// - Parameter grace: until when it may be used unpaid; nil leaves that as it is.
    private func setStatus(grace: Int64??) throws {
        guard let row = try SubscriptionRow.find(subscriptionKey, connection),
            notification.signedAt >= row.statusSignedAt, purchase.purchasedAt / 1_000 >= row.purchasedAt / 1_000
        else { return }
        let graceUntil = grace ?? row.graceUntil
        try connection.execute(
            """
            UPDATE subscriptions SET status_signed_at = $2, grace_until = $3,
                will_renew = coalesce($4, will_renew), renews_as = coalesce($5, renews_as)
            WHERE subscription_key = $1
            """,
            [
                subscriptionKey, notification.signedAt, graceUntil, notification.renewal?.willRenew,
                notification.renewal?.renewsAs?.rawValue,
            ])
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

    /// What takes purchases back, and gives them back.
    private func revocation() throws -> Revocation {
        Revocation(
            purchase: purchase, kind: kind, key: try knownKey(), signedAt: notification.signedAt, policy: policy,
            now: now, events: events, settlement: settlement, connection: connection)
    }

    /// What the purchase is known by. A product that is not on the list may have been there before, as of any kind.
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
        // Listed later as of another kind, it must be found under this one.
        if known == nil { try ProductKinds.add(kind, of: purchase.productID, connection) }
        return known ?? key
    }
}
