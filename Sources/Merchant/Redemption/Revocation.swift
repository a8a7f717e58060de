import Database
import Foundation
import MerchantWire
import StoreWire

/// Takes back a purchase's grants after a store has reported a refund or a revocation, in a notification or in evidence
/// from an app; inside one database transaction. The statement that was signed last decides.
struct Revocation {
    let purchase: VerifiedPurchase
    /// The product's kind on the merchant's list; for an unlisted product, the kind that the store states.
    let kind: ProductKind
    /// The purchase's redemption key.
    let key: RedemptionKey
    /// The time at which the store signed the statement, in milliseconds since 1970.
    let signedAt: Int64
    let policy: MerchantPolicy
    let times: BookTimes
    let events: EventWriter
    let settlement: Settlement
    let connection: Connection

    /// The time of the purchase's store.
    private var now: Int64 { times[purchase.environment] }
    private var subscriptionKey: String { RedemptionKey.subscription(purchase) }

    /// Takes back the grants from every user who redeemed the purchase. A purchase that nobody has redeemed yet is
    /// recorded and can no longer be redeemed. When the store refunds more of the price later, the difference is taken.
    ///
    /// Evidence that does not state the refunded share, such as a receipt, counts as a full refund. When the store
    /// states the share later, the excess is returned.
    func revoke() throws {
        try eachPlace(orRemember: try stands(since: .min) ? .revoked : .open) { row in
            var row = row
            if row.state == .revoked {
                guard signedAt >= row.stateSignedAt || statesShare(of: row) else { return }
                try row.sign(at: signedAt, connection)
                // Evidence without a share repeats a known refund.
                guard let share = purchase.revokedShare else { return }
                let isCorrected = try correctToRefund(&row)
                tell(of: try takeCredits(row, .percentage(share), .refund, isCorrected: isCorrected), row, "refund")
            } else if try stands(since: row.stateSignedAt) {
                let isCorrected = try correctToRefund(&row)
                try revoke(row, isCorrected: isCorrected)
            } else if row.state == .granted, try correctToRefund(&row) {
                // The store has reversed the refund since.
                try RedemptionRow.setTakenBack(nil, of: row.key, connection)
                try settleFlags(row, row.takenBack, [])
                tell(of: try giveBack(row, row.takenBack), row, "superseded")
            }
        }
    }

    /// The known facts about the purchase's subscription; nil for other kinds.
    private var facts: Subscription? {
        get throws {
            guard kind == .autoRenewableSubscription else { return nil }
            return try settlement.subscription(subscriptionKey, connection)?.facts
        }
    }

    /// Whether the purchase counts as refunded after this statement about a refund. For a subscription, all known
    /// statements decide; otherwise this one does unless a later one is known.
    private func stands(since otherSignedAt: Int64) throws -> Bool {
        if let facts = try facts, facts[key] != nil { return facts.isRefunded(key) }
        return signedAt >= otherSignedAt
    }

    /// Whether the purchase counts as not refunded after this statement about a reversal.
    private func isReversed(since otherSignedAt: Int64) throws -> Bool {
        if let facts = try facts, facts[key] != nil { return !facts.isRefunded(key) }
        return signedAt >= otherSignedAt
    }

    /// Whether this statement has the share of a refund that was recorded without one. It may have been signed before
    /// the evidence that was recorded. Receipts have whole seconds.
    private func statesShare(of row: RedemptionRow) -> Bool {
        guard purchase.revokedShare != nil, let revokedAt = purchase.revokedAt else { return false }
        return row.takenBack.contains { $0.presumedAt.map { $0 / 1_000 } == revokedAt / 1_000 }
    }

    /// Corrects a period that was recorded as replaced by another plan although a refund had ended it before that plan
    /// began. All credits taken then belong to the refund.
    /// - Returns: whether the period was corrected.
    private func correctToRefund(_ row: inout RedemptionRow) throws -> Bool {
        guard row.supersededAt != nil, let facts = try facts, facts[key]?.refundedAt != nil,
            facts.replacement(of: key) == nil
        else { return false }
        let before = row.takenBack
        row.supersededAt = nil
        row.takenBack = before.asRefunded
        try row.keepSuperseded(connection)
        try settleFlags(row, before, row.takenBack)
        return true
    }

    /// Takes back the credits of a subscription period that another plan has replaced, by policy. The rights end with
    /// the plan.
    func supersede(_ replacement: Subscription.Replacement) throws {
        let (start, end, moment) = (replacement.start, replacement.end, replacement.moment)
        let share: Share
        switch policy.superseded {
        case .keep: return
        case .takeBack: share = .all
        case .prorate: share = Share(part: end - moment, whole: end - start)
        }
        for place in key.places(RedemptionKey.mostPlaces) {
            // A period without a user has no credits yet. They are taken back when it is granted.
            guard let row = try RedemptionRow.find(place, connection), !row.creditedUser.rawValue.isEmpty,
                row.state != .open, row.supersededAt == nil || policy.superseded == .prorate
            else { continue }
            var changed = row
            changed.supersededAt = min(row.supersededAt ?? moment, moment)
            try changed.keepSuperseded(connection)
            tell(of: try takeCredits(row, share, .superseded), row, "superseded")
        }
    }

    /// Calls `body` for each user's row of the purchase. A family member may have redeemed it before the first user,
    /// and under another policy than the current one.
    private func eachPlace(
        orRemember state: RedemptionRow.State, _ body: (RedemptionRow) throws -> Void
    ) throws {
        for (index, place) in key.places(RedemptionKey.mostPlaces).enumerated() {
            if let row = try RedemptionRow.find(place, connection) {
                try body(row)
            } else if index == 0 {
                try RedemptionRow.remember(
                    purchase, key: key, expiresAt: purchase.expiresAt, state, signedAt: signedAt, at: now, connection)
            }
        }
    }

    /// The users who may have a redemption's rights: the user who redeemed it and, for a transferred subscription, its
    /// current user.
    private func holders(of row: RedemptionRow) throws -> [UserID] {
        guard kind == .autoRenewableSubscription, row.key == key.text,
            let holder = try settlement.subscription(subscriptionKey, connection)?.userID, !holder.rawValue.isEmpty,
            holder != row.userID
        else { return [row.userID] }
        return [row.userID, holder]
    }

    private func revoke(_ row: RedemptionRow, isCorrected: Bool) throws {
        try row.setState(.revoked, signedAt: signedAt, takenBack: row.takenBack, connection)
        let share = Share.percentage(purchase.revokedShare ?? VerifiedPurchase.wholeShare)
        let taken = try takeCredits(row, share, .refund, isCorrected: isCorrected)
        guard !row.userID.rawValue.isEmpty else { return }
        let holders = try holders(of: row)
        settlement.afterPostings {
            try events.write(.revoked(row.key, row.userID, takenBack: taken.balances), connection)
            if kind != .autoRenewableSubscription {
                try Rights.revoke(
                    of: row.userID, from: key.text, at: purchase.revokedAt ?? now, settlement, connection)
            }
            for holder in holders.dropFirst() where try hasRights(holder, isRevoked: false) {
                try events.write(.revoked(row.key, holder, takenBack: []), connection)
            }
            for balance in taken.returned {
                try events.write(.balanceChanged(row.creditedUser, balance.account, "refund"), connection)
            }
        }
    }

    /// Whether the subscription's current user has rights from the purchase. They follow the subscription at the end of
    /// the transaction.
    private func hasRights(_ holder: UserID, isRevoked: Bool) throws -> Bool {
        try Rights.hasRights(of: key, holder, from: subscriptionKey, isRevoked: isRevoked, connection)
    }

    /// The credits that were taken and returned. It is filled when the settlement changes the accounts.
    private final class Taken {
        var balances: [Balance] = []
        var returned: [Balance] = []
    }

    /// Writes an event for each changed balance.
    private func tell(of taken: Taken, _ row: RedemptionRow, _ reason: String) {
        settlement.afterPostings {
            for balance in taken.balances + taken.returned {
                try events.write(.balanceChanged(row.creditedUser, balance.account, reason), connection)
            }
        }
    }

    /// Takes back a share of a redemption's credits, in addition to the amount that was due before.
    /// - Parameter isCorrected: whether credits that were taken beyond the share are returned.
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

    /// Takes back credits of one currency for a cause, or returns credits that were taken beyond the target.
    ///
    /// A refund and a change of plan together are due only up to the larger of the two. The refund's part is the amount
    /// beyond the other's; a reversal of the refund returns that part.
    private func take(
        _ target: Int64, _ cause: TakenCredits.Cause, from account: CreditAccount, _ key: String, isFirst: Bool,
        isCorrected: Bool, ends: Bool, _ taken: Taken
    ) throws {
        guard let row = try RedemptionRow.find(key, connection), cause == .refund || row.supersededAt != nil else {
            return
        }
        let (currency, before) = (account.currency, row.takenBack)
        let known = before.filter { $0.currency == currency }
        // An earlier program took credits without recording the amount due.
        guard known.allSatisfy({ $0.due != nil }), isFirst || !known.isEmpty else { return }
        let refund = try Ledger.takeBack(
            row.creditedUser, account.name, target, beside: known.reduce(0) { $0 + ($1.due ?? 0) }, ends: ends,
            policy.refund, reference: key, at: times[account.environment], connection)
        if refund.hasExpired {
            try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
        }
        var all = before
        let excess = all.add(
            refund, currency, cause, ownedBy: key,
            presumedAt: purchase.revokedShare == nil ? purchase.revokedAt ?? now : nil, isCorrected: isCorrected)
        if let excess { try giveBack(excess, to: account, row, taken) }
        guard all != before else { return }
        try RedemptionRow.setTakenBack(all, of: key, connection)
        try settleFlags(row, before, all)
        if refund.taken > 0 { taken.balances.append(account.balance(of: refund.taken)) }
    }

    /// Returns the credits that a refund took, after the store has reversed it.
    func reinstate() throws {
        try eachPlace(orRemember: .open) { row in
            guard try isReversed(since: row.stateSignedAt) else { return }
            // Otherwise the refund's own notification arrives later and is older than this one.
            guard row.state == .revoked else { return try row.sign(at: signedAt, connection) }
            // The credits that were taken for a change of plan stay taken.
            let left = row.takenBack.of(.superseded)
            try unflag(row, .refund)
            try row.setState(
                row.userID.rawValue.isEmpty ? .open : .granted, signedAt: signedAt, takenBack: left, connection)
            _ = try giveBack(row, row.takenBack.of(.refund))
            guard !row.userID.rawValue.isEmpty else { return }
            let holders = try holders(of: row)
            settlement.afterPostings {
                try events.write(.reinstated(row.key, row.userID), connection)
                if kind != .autoRenewableSubscription {
                    try Rights.reinstate(of: row.userID, from: key.text, settlement, connection)
                }
                for holder in holders.dropFirst() where try hasRights(holder, isRevoked: true) {
                    try events.write(.reinstated(row.key, holder), connection)
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
        let time = times[account.environment]
        if try Ledger.giveBack(row.creditedUser, given, reference: row.key, at: time, connection) {
            try events.write(.balanceChanged(row.creditedUser, account.name, "expiry"), connection)
        }
        taken.returned.append(account.balance(of: credits.amount))
    }

    /// The account that has a redemption's credits, or gets them in this transaction.
    private func account(_ currency: CurrencyID, _ row: RedemptionRow) throws -> CreditAccount {
        try settlement.account(currency, grantedBy: row.key)
            ?? Ledger.account(currency, grantedBy: row.key, to: row.creditedUser, connection)
    }

    /// Adds the lots that an earlier program did not record. If the purchase's credits have a lifetime, all taken
    /// credits count as such.
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

    /// Flags the credited user for each cause whose due credits were already spent, and removes the flags of the other
    /// causes.
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
            try UserFlags.set(
                row.creditedUser, row.key, cause.flagCode, kept.joined(separator: " "), at: now, connection)
        }
    }

    private func unflag(_ row: RedemptionRow, _ cause: TakenCredits.Cause) throws {
        try UserFlags.remove(row.creditedUser, row.key, cause.flagCode, connection)
    }
}

extension TakenCredits.Cause {
    /// The code of the flag for a user who had spent the credits.
    fileprivate var flagCode: String {
        switch self {
        case .refund: "refunded_credits_kept"
        case .superseded: "superseded_credits_kept"
        }
    }
}
