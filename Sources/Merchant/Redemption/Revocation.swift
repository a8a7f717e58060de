import Database
import Foundation
import MerchantWire
import StoreWire

/// Takes back what a purchase gave, once a store has said that it was refunded or revoked, in a notification or in evidence that an app brings; inside
/// one database transaction. What was signed later stands.
struct Revocation {
    let purchase: VerifiedPurchase
    /// What kind of product it is: as the merchant sells it, else as the store says.
    let kind: ProductKind
    /// When what says so was signed, in milliseconds since 1970.
    let signedAt: Int64
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    let connection: Connection

    private var key: RedemptionKey { RedemptionKey(purchase, kind: kind) }
    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// Takes everything back from whoever redeemed it. A purchase that nobody has redeemed yet is remembered, and gives nothing any more.
    func revoke() throws {
        for (index, place) in key.places(max(policy.members, 1)).enumerated() {
            guard let row = try RedemptionRow.find(place, connection) else {
                if index == 0 { try remember(.revoked) }
                break
            }
            guard signedAt >= row.stateSignedAt, row.state != .revoked else { continue }
            try revoke(row)
        }
    }

    private func revoke(_ row: RedemptionRow) throws {
        var takenBack: [Balance] = []
        for case .credits(let currency, let amount, _) in row.credits where !row.creditedUser.rawValue.isEmpty {
            let share = min(max(purchase.revokedShare ?? 100_000, 0), 100_000)
            // Rounded up: a part of a credit is one.
            let refunded = (amount * share + 99_999) / 100_000
            let (taken, due) = try Ledger.takeBack(
                row.creditedUser, currency, refunded, policy.refund, reference: row.key, at: now, connection)
            if taken > 0 { takenBack.append(Balance(currency: currency, amount: taken)) }
            if taken < due { try flag(row, currency, due: due, taken: taken) }
        }
        try setState(row.key, .revoked, takenBack: takenBack)
        guard !row.userID.rawValue.isEmpty else { return }
        let moment = purchase.revokedAt ?? now
        if kind == .autoRenewableSubscription {
            try Rights.revoke(
                of: row.userID, from: subscriptionKey, boughtBy: purchase.purchasedAt, at: moment, connection)
        } else {
            try Rights.revoke(of: row.userID, from: key.text, at: moment, connection)
        }
        try events.write(.revoked(row.key, row.userID, takenBack: takenBack), connection)
    }

    /// Gives back what was taken, when the store has reversed the refund.
    func reinstate() throws {
        for (index, place) in key.places(max(policy.members, 1)).enumerated() {
            guard let row = try RedemptionRow.find(place, connection) else {
                if index == 0 { try remember(.open) }
                break
            }
            guard signedAt >= row.stateSignedAt else { continue }
            guard row.state == .revoked else {
                // The refund itself is still on its way, and older than this.
                try connection.execute(
                    "UPDATE redemptions SET state_signed_at = $2 WHERE redemption_key = $1", [row.key, signedAt])
                continue
            }
            for balance in row.takenBack { try giveBack(balance, row) }
            try setState(row.key, row.userID.rawValue.isEmpty ? .open : .granted, takenBack: nil)
            guard !row.userID.rawValue.isEmpty else { continue }
            let source = kind == .autoRenewableSubscription ? subscriptionKey : key.text
            try Rights.reinstate(of: row.userID, from: source, connection)
            try events.write(.reinstated(row.key, row.userID), connection)
        }
    }

    /// Credits that end do so when they would have ended without the refund.
    private func giveBack(_ balance: Balance, _ row: RedemptionRow) throws {
        var expiresAt: Int64?
        for case .credits(balance.currency, _, let lifetime?) in row.credits {
            expiresAt = row.redeemedAt + lifetime * 1_000
        }
        try Ledger.credit(
            row.creditedUser, balance.currency, balance.amount, .refundReversal, reference: row.key,
            expiresAt: expiresAt, at: now, connection)
        if let expiresAt, expiresAt <= now {
            try Ledger.expire(row.creditedUser, balance.currency, at: now, connection)
        }
    }

    /// Keeps what the store says of a purchase that nobody has redeemed yet.
    private func remember(_ state: RedemptionRow.State) throws {
        try connection.execute(
            """
            INSERT INTO redemptions (redemption_key, user_id, product_id, transaction_id, original_transaction_id,
                quantity, grants, purchased_at, expires_at, redeemed_at, state, state_signed_at)
            VALUES ($1, '', $2, $3, $4, $5, '[]', $6, $7, $8, $9, $10)
            ON CONFLICT (redemption_key) DO NOTHING
            """,
            [
                key.text, purchase.productID.rawValue, purchase.transactionID, purchase.originalTransactionID,
                purchase.quantity, purchase.purchasedAt, purchase.expiresAt, now, state.rawValue, signedAt,
            ])
    }

    private func setState(_ key: String, _ state: RedemptionRow.State, takenBack: [Balance]?) throws {
        let text = try takenBack.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try connection.execute(
            """
            UPDATE redemptions SET state = $2, state_signed_at = $3, taken_back = $4 WHERE redemption_key = $1
            """, [key, state.rawValue, signedAt, text])
    }

    private func flag(_ row: RedemptionRow, _ currency: CurrencyID, due: Int64, taken: Int64) throws {
        try connection.execute(
            """
            INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, reference, code) DO NOTHING
            """,
            [
                row.creditedUser.rawValue, row.key, "refunded_credits_kept",
                "\(due) \(currency.rawValue) were refunded, and \(taken) of them taken back.", now,
            ])
    }
}
