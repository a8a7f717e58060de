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
        try eachPlace(orRemember: .revoked) { row in
            guard signedAt >= row.stateSignedAt else { return }
            guard row.state != .revoked else { return try sign(row) }
            try revoke(row)
        }
    }

    /// Every user's share of the purchase: a guest may have come before the first user, and under another policy than today's.
    private func eachPlace(
        orRemember state: RedemptionRow.State, _ body: (RedemptionRow) throws -> Void
    ) throws {
        for (index, place) in key.places(RedemptionKey.mostPlaces).enumerated() {
            if let row = try RedemptionRow.find(place, connection) {
                try body(row)
            } else if index == 0 {
                try remember(state)
            }
        }
    }

    /// Who may have the rights that a redemption gave: who redeemed it and, since a subscription may have gone over to another user, who has it now.
    private func holders(of row: RedemptionRow) throws -> [UserID] {
        guard kind == .autoRenewableSubscription, row.key == key.text,
            let holder = try SubscriptionRow.find(subscriptionKey, connection)?.userID, !holder.rawValue.isEmpty,
            holder != row.userID
        else { return [row.userID] }
        return [row.userID, holder]
    }

    /// What the purchase's rights are from, and of a subscription which period gave them.
    private var rights: (source: String, period: Int64?) {
        kind == .autoRenewableSubscription ? (subscriptionKey, purchase.purchasedAt) : (key.text, nil)
    }

    private func revoke(_ row: RedemptionRow) throws {
        var takenBack: [TakenCredits] = []
        var balances: [Balance] = []
        for case .credits(let currency, let amount, _) in row.credits where !row.creditedUser.rawValue.isEmpty {
            let share = min(max(purchase.revokedShare ?? 100_000, 0), 100_000)
            // Rounded up: a part of a credit is one.
            let refunded = (amount * share + 99_999) / 100_000
            let account = try Ledger.account(currency, grantedBy: row.key, to: row.creditedUser, connection)
            let refund = try Ledger.takeBack(
                row.creditedUser, account.name, refunded, policy.refund, reference: row.key, at: now, connection)
            if refund.hasExpired {
                try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
            }
            if refund.taken > 0 {
                balances.append(account.balance(of: refund.taken))
                takenBack.append(TakenCredits(currency: currency, amount: refund.taken, lots: refund.lots))
            }
            if refund.taken < refund.due { try flag(row, currency, due: refund.due, taken: refund.taken) }
        }
        try setState(row.key, .revoked, takenBack: takenBack)
        guard !row.userID.rawValue.isEmpty else { return }
        let moment = purchase.revokedAt ?? now
        let (source, period) = rights
        if period != nil { try SubscriptionRow.end(source, purchase, at: moment, connection) }
        try events.write(.revoked(row.key, row.userID, takenBack: balances), connection)
        for holder in try holders(of: row) {
            let hadRights = try Rights.revoke(of: holder, from: source, boughtBy: period, at: moment, connection)
            if holder != row.userID, hadRights {
                try events.write(.revoked(row.key, holder, takenBack: []), connection)
            }
        }
    }

    /// Gives back what was taken, when the store has reversed the refund.
    func reinstate() throws {
        try eachPlace(orRemember: .open) { row in
            guard signedAt >= row.stateSignedAt else { return }
            // If not, the refund itself is still on its way, and older than this.
            guard row.state == .revoked else { return try sign(row) }
            for credits in row.takenBack.map({ Self.withLots($0, row) }) {
                let account = try Ledger.account(
                    credits.currency, grantedBy: row.key, to: row.creditedUser, connection)
                let taken = credits.taken(from: account)
                if try Ledger.giveBack(row.creditedUser, taken, reference: row.key, at: now, connection) {
                    try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
                }
            }
            try connection.execute(
                "DELETE FROM user_flags WHERE user_id = $1 AND reference = $2 AND code = $3",
                [row.creditedUser.rawValue, row.key, Self.keptCredits])
            try setState(row.key, row.userID.rawValue.isEmpty ? .open : .granted, takenBack: nil)
            guard !row.userID.rawValue.isEmpty else { return }
            let (source, period) = rights
            if period != nil { try SubscriptionRow.goOn(source, purchase, connection) }
            try events.write(.reinstated(row.key, row.userID), connection)
            // They are with one of them: what a transfer took from the other stays taken.
            for holder in try holders(of: row).reversed() {
                guard try Rights.reinstate(of: holder, from: source, boughtAt: period, connection) else { continue }
                if holder != row.userID { try events.write(.reinstated(row.key, holder), connection) }
                break
            }
        }
    }

    /// Of what an earlier program took back it was not kept what of it was to end: all of it, as far as the purchase says.
    private static func withLots(_ credits: TakenCredits, _ row: RedemptionRow) -> TakenCredits {
        var credits = credits
        guard credits.lots == nil else { return credits }
        for case .credits(credits.currency, _, let lifetime?) in row.credits {
            credits.lots = [
                Lots.Lot(
                    expiresAt: row.redeemedAt + lifetime * 1_000, reference: row.key, remaining: credits.amount)
            ]
        }
        return credits
    }

    /// Notes that the store has said again how it stands, so that nothing older counts.
    private func sign(_ row: RedemptionRow) throws {
        guard signedAt > row.stateSignedAt else { return }
        try connection.execute(
            "UPDATE redemptions SET state_signed_at = $2 WHERE redemption_key = $1", [row.key, signedAt])
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

    private func setState(_ key: String, _ state: RedemptionRow.State, takenBack: [TakenCredits]?) throws {
        let text = try takenBack.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try connection.execute(
            """
            UPDATE redemptions SET state = $2, state_signed_at = $3, taken_back = $4 WHERE redemption_key = $1
            """, [key, state.rawValue, signedAt, text])
    }

    /// The flag of a user who spent what was refunded.
    private static let keptCredits = "refunded_credits_kept"

    private func flag(_ row: RedemptionRow, _ currency: CurrencyID, due: Int64, taken: Int64) throws {
        try connection.execute(
            """
            INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id, reference, code) DO UPDATE SET detail = excluded.detail, created_at = excluded.created_at
            """,
            [
                row.creditedUser.rawValue, row.key, Self.keptCredits,
                "\(due) \(currency.rawValue) were refunded, and \(taken) of them taken back.", now,
            ])
    }
}
