import Database
import Foundation
import MerchantWire
import StoreWire

/// The double-entry ledger. It has one account for each user and currency, and the counter-accounts store, shop,
/// expired and merchant.
///
/// An entry moves credits between a user's account and a counter-account. One row holds both postings, which sum to
/// zero. Each entry records the account's balance after it, so that the next entry needs only the newest one. Entries
/// and expiry dates have the time of the account (``BookTimes``).
enum Ledger {
    /// The state of an account after an entry.
    struct Posting: Sendable, Equatable {
        var balance: Int64
        /// The entry's number; 0 for an account without entries.
        var entry: Int64

        static let none = Posting(balance: 0, entry: 0)

        /// The state after one more entry.
        /// - Parameter amount: the number of credits, positive or negative.
        func adding(_ amount: Int64) throws -> Posting {
            let (balance, overflows) = balance.addingReportingOverflow(amount)
            guard !overflows else {
                throw MerchantError(.invalidRequest, "The balance would exceed the largest possible number.")
            }
            return Posting(balance: balance, entry: entry + 1)
        }
    }

    /// Adds credits, which may expire.
    @discardableResult
    static func credit(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ kind: LedgerEntry.Kind, reference: String,
        caller: LedgerCaller? = nil, note: String? = nil, expiresAt: Int64? = nil, at now: Int64,
        _ connection: Connection
    ) throws -> Posting {
        let posting = try posting(of: user, currency, connection).adding(amount)
        try write(user, currency, amount, kind, posting, reference, caller, note, now, connection)
        if let expiresAt, amount > 0 {
            try Lots.add(
                user, currency, amount, expiresAt: expiresAt, reference: reference, balance: posting.balance,
                connection)
        }
        return posting
    }

    /// The result of a debit with a caller's key.
    enum Debit {
        /// The credits were taken. Expired credits may have been removed first.
        case posted(Posting)
        /// The key was used before, and no credits were taken.
        case repeated(CurrencyID, LedgerEntry)
        case insufficient
    }

    /// Takes credits if the balance is sufficient and the key is new.
    /// - Parameters:
    ///   - caller: the caller whose key it is.
    ///   - onExpiry: called when expired credits were removed, whatever the result is.
    static func debit(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ kind: LedgerEntry.Kind, key: String,
        of caller: LedgerCaller, note: String?, at now: Int64, _ connection: Connection, onExpiry: () throws -> Void
    ) throws -> Debit {
        guard let standing = try standing(of: user, currency, connection), standing.posting.balance >= amount,
            !standing.isDue(at: now)
        else {
            if let (currency, entry) = try entry(ofKey: key, caller, user, connection) {
                return .repeated(currency, entry)
            }
            // Expired credits are removed first, then the balance is checked again.
            guard try expire(user, currency, at: now, connection) else { return .insufficient }
            try onExpiry()
            return try debit(
                user, currency, amount, kind, key: key, of: caller, note: note, at: now, connection, onExpiry: onExpiry)
        }
        let posting = try standing.posting.adding(-amount)
        // A key is nearly always new. The insert detects a repeated key, and has to check for it anyway.
        guard try writeUnlessRepeated(user, currency, -amount, kind, posting, key, caller, note, now, connection) else {
            guard let (currency, entry) = try entry(ofKey: key, caller, user, connection) else {
                throw MerchantError(.internalError, "The entry was not written.")
            }
            return .repeated(currency, entry)
        }
        if standing.nextExpiry != nil { try Lots.consume(user, currency, amount, connection) }
        return .posted(posting)
    }

    /// The result of taking back a refunded purchase's credits.
    struct Refund {
        var taken: Int64 = 0
        /// The total amount to take back, without credits that have expired.
        var wanted: Int64
        /// The amount to take back now, in addition to the amount due before.
        var due: Int64
        /// The part of ``taken`` that had an expiry date.
        var lots: [Lots.Lot] = []
        /// Whether expired credits were removed.
        var hasExpired: Bool
    }

    /// Takes back the credits of a refunded purchase, except those that have expired.
    /// - Parameters:
    ///   - amount: the total amount refunded.
    ///   - earlier: the amount that was due before.
    ///   - ends: whether the purchase's credits have a lifetime.
    static func takeBack(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, beside earlier: Int64, ends: Bool,
        _ policy: RefundPolicy, reference: String, at now: Int64, _ connection: Connection
    ) throws -> Refund {
        let hasExpired = try expire(user, currency, at: now, connection)
        let expired = ends ? try Self.expired(of: reference, user, currency, connection) : 0
        let wanted = max(amount - expired, 0)
        var refund = Refund(wanted: wanted, due: max(wanted - earlier, 0), hasExpired: hasExpired)
        guard let standing = try standing(of: user, currency, connection) else { return refund }
        refund.taken =
            switch policy {
            case .toZero: min(refund.due, max(standing.posting.balance, 0))
            case .belowZero: refund.due
            case .flag: 0
            }
        guard refund.taken > 0 else { return refund }
        let posting = try standing.posting.adding(-refund.taken)
        try write(user, currency, -refund.taken, .refund, posting, reference, nil, nil, now, connection)
        if standing.nextExpiry != nil {
            refund.lots =
                try Lots.takeBack(user, currency, refund.taken, reference: reference, connection)
                + Lots.trim(user, currency, to: max(posting.balance, 0), connection)
        }
        return refund
    }

    /// Returns the credits that a refund took, after the store has reversed the refund. Credits with an expiry date
    /// keep it. Credits without one that were taken instead, because the others were spent, still do not expire.
    /// - Returns: whether expired credits were removed.
    static func giveBack(
        _ user: UserID, _ credits: TakenCredits, reference: String, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        let posting = try credit(
            user, credits.currency, credits.amount, .refundReversal, reference: reference, at: now, connection)
        for lot in credits.lots ?? [] {
            try Lots.add(
                user, credits.currency, lot.remaining, expiresAt: lot.expiresAt, reference: lot.reference,
                balance: posting.balance, connection)
        }
        // If the balance is negative, these credits are used up.
        try Lots.trim(user, credits.currency, to: max(posting.balance, 0), connection)
        return try expire(user, credits.currency, at: now, connection)
    }

    /// Removes an account's expired credits from its balance. Returns whether it had any.
    ///
    /// Lots that exceed the balance are skipped, so that one inconsistent account does not stop the sweep of all
    /// others. ``Merchant/checkBooks()`` reports them until then.
    @discardableResult
    static func expire(
        _ user: UserID, _ currency: CurrencyID, at now: Int64, _ connection: Connection
    ) throws -> Bool {
        let ended = try Lots.ended(user, currency, at: now, connection)
        guard !ended.isEmpty else { return false }
        guard var posting = try standing(of: user, currency, connection)?.posting else {
            try Lots.removeEnded(user, currency, at: now, connection)
            return false
        }
        for lot in ended {
            let amount = min(lot.remaining, posting.balance)
            guard amount > 0 else { continue }
            posting = try posting.adding(-amount)
            try write(user, currency, -amount, .expiry, posting, lot.reference, nil, nil, now, connection)
        }
        // Write the account first, as a spend does: a transaction that waits for the account must not hold one of its
        // lots.
        try Lots.removeEnded(user, currency, at: now, connection)
        return true
    }

    /// The state of an account and its next expiry.
    struct Standing {
        var posting: Posting
        /// The time at which the next of its credits expire.
        var nextExpiry: Int64?

        /// Whether expired credits have to be removed.
        func isDue(at now: Int64) -> Bool { nextExpiry.map { $0 <= now } ?? false }
    }

    /// Finds the account to which a purchase's credits were granted.
    /// - Parameter reference: the purchase's redemption key.
    static func account(
        _ currency: CurrencyID, grantedBy reference: String, to user: UserID, _ connection: Connection
    ) throws -> CreditAccount {
        let environment = RedemptionKey.environment(of: reference)
        let account = CreditAccount(currency, in: environment)
        // The policy or an earlier program may have granted sandbox credits to the production account.
        guard environment == .sandbox else { return account }
        let isApart = try hasGrant(of: reference, user, account.name, connection)
        return isApart ? account : CreditAccount(currency, in: .production)
    }

    private static func write(
        _ user: UserID, _ currency: CurrencyID, _ amount: Int64, _ kind: LedgerEntry.Kind, _ posting: Posting,
        _ reference: String, _ caller: LedgerCaller?, _ note: String?, _ now: Int64, _ connection: Connection
    ) throws {
        guard
            try writeUnlessRepeated(
                user, currency, amount, kind, posting, reference, caller, note, now, connection)
        else {
            throw MerchantError(.internalError, "The entry was not written.")
        }
    }
}

/// The caller of a spend or an adjustment. Each caller has separate idempotency keys.
public enum LedgerCaller: String, Sendable {
    /// The user's app.
    case app
    /// The merchant's backend, or its operator.
    case backend
}

extension LedgerEntry.Kind {
    /// The counter-account of an entry of this kind.
    var counterAccount: String {
        switch self {
        case .grant, .refund, .refundReversal: "store"
        case .spend: "shop"
        case .expiry: "expired"
        case .adjustment: "merchant"
        }
    }
}
