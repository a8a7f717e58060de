import Database
import Foundation
import MerchantWire
import StoreWire

/// Applies one notification inside one database transaction.
struct StoreNews {
    let notification: VerifiedNotification
    let purchase: VerifiedPurchase
    /// What the merchant makes of the transaction.
    let item: RedemptionItem?
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    let connection: Connection

    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// What kind of product it is: as the merchant sells it, else as the store says.
    private var kind: ProductKind {
        if case .plan(let plan) = item { return plan.product.kind }
        return purchase.statedKind ?? .consumable
    }

    /// False for what changes nothing here.
    func apply() throws -> Bool {
        switch notification.type {
        case "SUBSCRIBED", "DID_RENEW", "OFFER_REDEEMED", "ONE_TIME_CHARGE", "DID_CHANGE_RENEWAL_PREF":
            try redeemForOwner()
            try setStatus(grace: .some(nil))
        case "RENEWAL_EXTENDED":
            try extend()
            try redeemForOwner()
        case "DID_CHANGE_RENEWAL_STATUS": try setStatus(grace: nil)
        case "DID_FAIL_TO_RENEW":
            let grace = notification.subtype == "GRACE_PERIOD" ? notification.renewal?.graceUntil : nil
            try setStatus(grace: .some(grace))
        case "GRACE_PERIOD_EXPIRED", "EXPIRED": try setStatus(grace: .some(nil))
        case "REFUND", "REVOKE": try revoke()
        case "REFUND_REVERSED": try reinstate()
        default: return false
        }
        return true
    }

    // MARK: Purchases

    /// Redeems for whom the subscription belongs to, or whom the purchase names. Without either it waits for the app.
    private func redeemForOwner() throws {
        guard case .plan(let plan) = item else { return }
        var owner = try SubscriptionRow.find(subscriptionKey, connection)?.userID
        if owner == nil || owner == "", let token = purchase.accountToken {
            owner = try AccountToken.owner(token, connection)
        }
        guard let owner, !owner.rawValue.isEmpty else { return }
        // Whose subscription it is, is settled: what the purchase's own token says matters only to the first.
        _ = try Redeemer(policy: policy, now: now, events: events, connection: connection)
            .redeem(plan, ownedBy: owner, askedBy: owner)
    }

    private func extend() throws {
        guard let expiresAt = purchase.expiresAt, let row = try SubscriptionRow.find(subscriptionKey, connection),
            !row.userID.rawValue.isEmpty
        else { return }
        try Rights.extend(
            of: row.userID, from: subscriptionKey, productID: purchase.productID, to: expiresAt, connection)
        try connection.execute(
            """
            UPDATE subscriptions SET expires_at = $2
            WHERE subscription_key = $1 AND purchased_at = $3 AND expires_at < $2
            """, [subscriptionKey, expiresAt, purchase.purchasedAt])
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    /// Writes down how the subscription stands, unless something newer is known.
    /// - Parameter grace: until when it may be used unpaid; nil leaves that as it is.
    private func setStatus(grace: Int64??) throws {
        guard let row = try SubscriptionRow.find(subscriptionKey, connection),
            notification.signedAt >= row.statusSignedAt
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
        if grace != nil { try Rights.setGrace(of: row.userID, from: subscriptionKey, until: graceUntil, connection) }
        try events.write(
            .subscriptionChanged(subscriptionKey, row.userID, type: notification.type, subtype: notification.subtype),
            connection)
    }

    // MARK: Refunds

    private func revoke() throws {
        let key = RedemptionKey(purchase, kind: kind)
        for (index, place) in key.places(max(policy.members, 1)).enumerated() {
            guard let row = try RedemptionRow.find(place, connection) else {
                if index == 0 { try remember(key, .revoked) }
                break
            }
            guard notification.signedAt >= row.stateSignedAt, row.state != .revoked else { continue }
            try revoke(row, key)
        }
    }

    private func revoke(_ row: RedemptionRow, _ key: RedemptionKey) throws {
        var takenBack: [Balance] = []
        for case .credits(let currency, let amount, _) in row.grants where !row.userID.rawValue.isEmpty {
            let share = min(max(purchase.revokedShare ?? 100_000, 0), 100_000)
            // Rounded up: a part of a credit is one.
            let due = (amount * share + 99_999) / 100_000
            let taken = try Ledger.takeBack(
                row.userID, currency, due, policy.refund, reference: row.key, at: now, connection)
            if taken > 0 { takenBack.append(Balance(currency: currency, amount: taken)) }
            if taken < due { try flag(row, currency, due: due, taken: taken) }
        }
        try setState(row.key, .revoked, takenBack: takenBack)
        guard !row.userID.rawValue.isEmpty else { return }
        let moment = purchase.revokedAt ?? now
        if kind == .autoRenewableSubscription {
            try Rights.revoke(
                of: row.userID, from: subscriptionKey, upTo: purchase.expiresAt, at: moment, connection)
        } else {
            try Rights.revoke(of: row.userID, from: key.text, at: moment, connection)
        }
        try events.write(.revoked(row.key, row.userID, takenBack: takenBack), connection)
    }

    private func reinstate() throws {
        let key = RedemptionKey(purchase, kind: kind)
        for (index, place) in key.places(max(policy.members, 1)).enumerated() {
            guard let row = try RedemptionRow.find(place, connection) else {
                if index == 0 { try remember(key, .open) }
                break
            }
            guard notification.signedAt >= row.stateSignedAt else { continue }
            guard row.state == .revoked else {
                // The refund itself is still on its way, and older than this.
                try connection.execute(
                    "UPDATE redemptions SET state_signed_at = $2 WHERE redemption_key = $1",
                    [row.key, notification.signedAt])
                continue
            }
            for balance in row.takenBack {
                try Ledger.credit(
                    row.userID, balance.currency, balance.amount, .refundReversal, reference: row.key, at: now,
                    connection)
            }
            try setState(row.key, row.userID.rawValue.isEmpty ? .open : .granted, takenBack: nil)
            guard !row.userID.rawValue.isEmpty else { continue }
            let source = kind == .autoRenewableSubscription ? subscriptionKey : key.text
            try Rights.reinstate(of: row.userID, from: source, connection)
            try events.write(.reinstated(row.key, row.userID), connection)
        }
    }

    /// Keeps what the store says of a purchase that nobody has redeemed yet.
    private func remember(_ key: RedemptionKey, _ state: RedemptionRow.State) throws {
        try connection.execute(
            """
            INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                quantity, grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
            VALUES ($1, '', $2, $3, $4, $5, '[]', $6, $7, $8, $9, $10)
            ON CONFLICT (redemption_key) DO NOTHING
            """,
            [
                key.text, purchase.productID.rawValue, purchase.transactionID, purchase.originalTransactionID,
                purchase.quantity, purchase.purchasedAt, purchase.expiresAt, now, state.rawValue,
                notification.signedAt,
            ])
    }

    private func setState(_ key: String, _ state: RedemptionRow.State, takenBack: [Balance]?) throws {
        let text = try takenBack.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try connection.execute(
            """
            UPDATE redemptions SET state = $2, state_signed_at = $3, taken_back = $4 WHERE redemption_key = $1
            """, [key, state.rawValue, notification.signedAt, text])
    }

    private func flag(_ row: RedemptionRow, _ currency: CurrencyID, due: Int64, taken: Int64) throws {
        try connection.execute(
            """
            INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, reference, code) DO NOTHING
            """,
            [
                row.userID.rawValue, row.key, "refunded_credits_kept",
                "\(due) \(currency.rawValue) were refunded, and \(taken) of them taken back.", now,
            ])
    }
}
