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
    /// What the purchase is known by.
    let key: RedemptionKey
    /// When what says so was signed, in milliseconds since 1970.
    let signedAt: Int64
    let policy: MerchantPolicy
    let now: Int64
    let events: EventWriter
    let settlement: Settlement
    let connection: Connection

    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// Takes everything back from whoever redeemed it. A purchase that nobody has redeemed yet is remembered, and
    /// gives nothing any more. When more of the price is refunded later, the difference is taken.
    ///
    /// Evidence that does not say how much was refunded, such as a receipt, takes everything. When the store says how
    /// much it was, the rest comes back.
    func revoke() throws {
        try eachPlace(orRemember: .revoked) { row in
            var row = row
            if row.state == .revoked {
                guard signedAt >= row.stateSignedAt || statesShare(of: row) else { return }
                try sign(row)
                // Evidence without a share repeats a refund that is known.
                guard let share = purchase.revokedShare else { return }
                let isCorrected = try endByRefund(&row)
                tell(of: try takeCredits(row, .percentage(share), .refund, isCorrected: isCorrected), row, "refund")
            } else if signedAt >= row.stateSignedAt {
                let isCorrected = try endByRefund(&row)
                try revoke(row, isCorrected: isCorrected)
            } else if row.state == .granted, try endByRefund(&row) {
                // The store has reversed it since.
                try RedemptionRow.setTakenBack(nil, of: row.key, connection)
                try settleFlags(row, row.takenBack, [])
                tell(of: try giveBack(row, row.takenBack), row, "superseded")
            }
        }
    }

    /// Whether this is the same refund as one of which no evidence has said yet how much was refunded. It may have been
    /// signed before that evidence. Receipts have whole seconds.
    private func statesShare(of row: RedemptionRow) -> Bool {
        guard purchase.revokedShare != nil, let revokedAt = purchase.revokedAt else { return false }
        return row.takenBack.contains { $0.presumedAt.map { $0 / 1_000 } == revokedAt / 1_000 }
    }

    /// Corrects a period that seems to have been left for another plan, when the refund had ended it before that plan
    /// began: all credits taken are the refund's then.
    /// - Returns: whether it was so.
    private func endByRefund(_ row: inout RedemptionRow) throws -> Bool {
        guard let supersededAt = row.supersededAt, let revokedAt = purchase.revokedAt, revokedAt <= supersededAt,
            purchase.isUpgraded != true
        else { return false }
        let before = row.takenBack
        row.supersededAt = nil
        row.takenBack = before.asRefunded
        try row.keepSuperseded(connection)
        try settleFlags(row, before, row.takenBack)
        return true
    }

    /// Takes back the credits of a subscription's period whose place another plan has taken. The rights end with the
    /// plan.
    /// - Parameters:
    ///   - share: of the credits.
    ///   - moment: when the other plan began, as far as it is known.
    func supersede(_ share: Share, at moment: Int64) throws {
        for place in key.places(RedemptionKey.mostPlaces) {
            guard let row = try RedemptionRow.find(place, connection), row.state != .open,
                row.supersededAt == nil || policy.superseded == .prorate
            else { continue }
            var changed = row
            changed.supersededAt = min(row.supersededAt ?? moment, moment)
            try changed.keepSuperseded(connection)
            tell(of: try takeCredits(row, share, .superseded), row, "superseded")
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

    private func revoke(_ row: RedemptionRow, isCorrected: Bool) throws {
        try setState(row.key, .revoked, takenBack: row.takenBack)
        let share = Share.percentage(purchase.revokedShare ?? VerifiedPurchase.wholeShare)
        let taken = try takeCredits(row, share, .refund, isCorrected: isCorrected)
        guard !row.userID.rawValue.isEmpty else { return }
        let moment = purchase.revokedAt ?? now
        let (source, period) = rights
        if period != nil { try SubscriptionRow.end(source, purchase, at: moment, connection) }
        let holders = try holders(of: row)
        settlement.afterPostings {
            try events.write(.revoked(row.key, row.userID, takenBack: taken.balances), connection)
            for holder in holders {
                let hadRights = try Rights.revoke(
                    of: holder, from: source, boughtBy: period, at: moment, settlement, connection)
                if holder != row.userID, hadRights {
                    try events.write(.revoked(row.key, holder, takenBack: []), connection)
                }
            }
            for balance in taken.returned {
                try events.write(.balanceChanged(row.creditedUser, balance.account, "refund"), connection)
            }
        }
    }

    /// The credits that were taken back and given back, once accounts are settled.
    private final class Taken {
        var balances: [Balance] = []
        var returned: [Balance] = []
    }

    /// Tells the backend of each balance that was changed.
    private func tell(of taken: Taken, _ row: RedemptionRow, _ reason: String) {
        settlement.afterPostings {
            for balance in taken.balances + taken.returned {
                try events.write(.balanceChanged(row.creditedUser, balance.account, reason), connection)
            }
        }
    }

    /// Takes back a share of the credits that a redemption gave, beside the amount that was due before.
    /// - Parameter isCorrected: whether credits come back that were taken beyond the share.
    private func takeCredits(
        _ row: RedemptionRow, _ share: Share, _ cause: TakenCredits.Cause, isCorrected: Bool = false
    ) throws -> Taken {
        let taken = Taken()
        guard !row.creditedUser.rawValue.isEmpty else { return taken }
        let isFirst = row.state != .revoked && row.supersededAt == nil
        for case .credits(let currency, let amount, let lifetime) in row.credits {
            let account = try account(currency, row)
            settlement.post(row.creditedUser, account.name) {
                try take(
                    share.of(amount), cause, from: account, row.key, isFirst: isFirst, isCorrected: isCorrected,
                    ends: lifetime != nil, taken)
            }
        }
        return taken
    }

    /// Takes credits of one currency back for a cause, or gives back what was taken beyond the target.
    ///
    /// A refund and a change of plan are due together only as far as the larger of them goes. The refund's part is the
    /// amount beyond the other's: a reversal gives that back.
    private func take(
        _ target: Int64, _ cause: TakenCredits.Cause, from account: CreditAccount, _ key: String, isFirst: Bool,
        isCorrected: Bool, ends: Bool, _ taken: Taken
    ) throws {
        guard let row = try RedemptionRow.find(key, connection), cause == .refund || row.supersededAt != nil else {
            return
        }
        let (currency, before) = (account.currency, row.takenBack)
        let known = before.filter { $0.currency == currency }
        // An earlier program took what it did without keeping what was due.
        guard known.allSatisfy({ $0.due != nil }), isFirst || !known.isEmpty else { return }
        let refund = try Ledger.takeBack(
            row.creditedUser, account.name, target, beside: known.reduce(0) { $0 + ($1.due ?? 0) }, ends: ends,
            policy.refund, reference: key, at: now, connection)
        if refund.hasExpired {
            try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
        }
        var all = before
        var credits = all[currency, cause] ?? .none(of: currency, cause)
        let due = credits.due ?? 0
        switch cause {
        case .superseded:
            // A refund has taken some of it already.
            if var first = all[currency, .refund], refund.wanted > due {
                var rest = first.keep(min(first.due ?? 0, refund.wanted - due), ownedBy: key)
                rest.presumedAt = first.presumedAt
                credits.add(first)
                all[currency, .refund] = rest
            }
        case .refund:
            let wanted = max(refund.wanted - (all[currency, .superseded]?.due ?? 0), 0)
            let isStated = purchase.revokedShare != nil
            if wanted < due, isCorrected || isStated && credits.presumedAt != nil {
                let rest = credits.keep(wanted, ownedBy: key)
                try giveBack(rest, to: account, row, taken)
            }
            credits.presumedAt = isStated ? nil : purchase.revokedAt ?? now
        }
        credits.add(TakenCredits(currency: currency, amount: refund.taken, lots: refund.lots, due: refund.due))
        all[currency, cause] = credits
        guard all != before else { return }
        try RedemptionRow.setTakenBack(all, of: key, connection)
        try settleFlags(row, before, all)
        if refund.taken > 0 { taken.balances.append(account.balance(of: refund.taken)) }
    }

    /// Gives back the credits that the refund took, when the store has reversed it.
    func reinstate() throws {
        try eachPlace(orRemember: .open) { row in
            guard signedAt >= row.stateSignedAt else { return }
            // If not, the refund itself is still on its way, and older than this.
            guard row.state == .revoked else { return try sign(row) }
            // The credits of a period that was left for another plan stay taken.
            let left = row.takenBack.of(.superseded)
            try unflag(row, .refund)
            try setState(row.key, row.userID.rawValue.isEmpty ? .open : .granted, takenBack: left)
            _ = try giveBack(row, row.takenBack.of(.refund))
            guard !row.userID.rawValue.isEmpty else { return }
            let (source, period) = rights
            if period != nil { try SubscriptionRow.restoreEnd(source, purchase, connection) }
            let holders = try holders(of: row)
            settlement.afterPostings {
                try events.write(.reinstated(row.key, row.userID), connection)
                // They are with one of them: what a transfer took from the other stays taken.
                for holder in holders.reversed() {
                    guard try Rights.reinstate(of: holder, from: source, boughtAt: period, settlement, connection)
                    else { continue }
                    if holder != row.userID { try events.write(.reinstated(row.key, holder), connection) }
                    break
                }
            }
        }
    }

    private func giveBack(_ row: RedemptionRow, _ all: [TakenCredits]) throws -> Taken {
        let taken = Taken()
        for credits in all.map({ Self.withLots($0, row) }) {
            let account = try account(credits.currency, row)
            settlement.post(row.creditedUser, account.name) { try giveBack(credits, to: account, row, taken) }
        }
        return taken
    }

    private func giveBack(
        _ credits: TakenCredits, to account: CreditAccount, _ row: RedemptionRow, _ taken: Taken
    ) throws {
        guard credits.amount > 0 else { return }
        let given = credits.taken(from: account)
        if try Ledger.giveBack(row.creditedUser, given, reference: row.key, at: now, connection) {
            try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
        }
        taken.returned.append(account.balance(of: credits.amount))
    }

    /// Where a redemption's credits are, or are about to be.
    private func account(_ currency: CurrencyID, _ row: RedemptionRow) throws -> CreditAccount {
        try settlement.account(currency, grantedBy: row.key)
            ?? Ledger.account(currency, grantedBy: row.key, to: row.creditedUser, connection)
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
        try connection.execute(
            "UPDATE redemptions SET state_signed_at = $2 WHERE redemption_key = $1",
            [row.key, max(signedAt, row.stateSignedAt)])
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

    private func setState(_ key: String, _ state: RedemptionRow.State, takenBack: [TakenCredits]) throws {
        try connection.execute(
            """
            UPDATE redemptions SET state = $2, state_signed_at = $3, taken_back = $4 WHERE redemption_key = $1
            """, [key, state.rawValue, signedAt, takenBack.isEmpty ? nil : try TakenCredits.json(takenBack)])
    }

    /// Flags the credited user for each cause for which credits are due that were spent, and unflags for the others.
    private func settleFlags(_ row: RedemptionRow, _ before: [TakenCredits], _ all: [TakenCredits]) throws {
        for cause in TakenCredits.Cause.allCases where before.of(cause) != all.of(cause) {
            let kept = all.of(cause).compactMap { credits in
                credits.due.flatMap { due in
                    due > credits.amount
                        ? "\(due) \(credits.currency) were refunded, and \(credits.amount) of them taken back." : nil
                }
            }
            guard !kept.isEmpty else {
                try unflag(row, cause)
                continue
            }
            try connection.execute(
                """
                INSERT INTO user_flags (user_id, reference, code, detail, created_at) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (user_id, reference, code) DO UPDATE SET detail = excluded.detail,
                    created_at = excluded.created_at
                """, [row.creditedUser.rawValue, row.key, cause.flagCode, kept.joined(separator: " "), now])
        }
    }

    private func unflag(_ row: RedemptionRow, _ cause: TakenCredits.Cause) throws {
        try connection.execute(
            "DELETE FROM user_flags WHERE user_id = $1 AND reference = $2 AND code = $3",
            [row.creditedUser.rawValue, row.key, cause.flagCode])
    }
}

extension TakenCredits.Cause {
    /// The flag of a user who had spent the credits.
    fileprivate var flagCode: String {
        switch self {
        case .refund: "refunded_credits_kept"
        case .superseded: "superseded_credits_kept"
        }
    }
}

/// A part of what a purchase gave.
struct Share: Sendable, Equatable {
    static let all = Share(part: 1, whole: 1)

    private let part: Int64
    private let whole: Int64

    /// - Parameters:
    ///   - part: taken as 0 when it is less, and as all when it is more than the whole.
    ///   - whole: at least 1.
    init(part: Int64, whole: Int64) {
        self.whole = max(whole, 1)
        self.part = min(max(part, 0), self.whole)
    }

    /// - Parameter thousandths: of a percent.
    static func percentage(_ thousandths: Int64) -> Share {
        Share(part: thousandths, whole: VerifiedPurchase.wholeShare)
    }

    /// So much of an amount above zero, rounded up: a part of a credit is one.
    func of(_ amount: Int64) -> Int64 {
        let (quotient, remainder) = whole.dividingFullWidth(amount.multipliedFullWidth(by: part))
        return remainder > 0 ? quotient + 1 : quotient
    }
}
