import Foundation
import MerchantWire
import StoreWire

/// Credits of one currency that were taken back from a redemption, for one cause. They are stored with the redemption.
struct TakenCredits: Codable, Sendable, Equatable {
    /// Why credits were taken back.
    enum Cause: String, Codable, Sendable, CaseIterable {
        case refund
        /// Another plan replaced the subscription's period.
        case superseded
    }

    var currency: CurrencyID
    var amount: Int64
    /// The part of ``amount`` with an expiry date, in the order in which it was taken. Nil when an earlier program took
    /// it and did not record the dates.
    var lots: [Lots.Lot]?
    /// The amount due. It exceeds ``amount`` when the user had spent credits. Nil when an earlier program took them.
    ///
    /// A refund and a change of plan overlap: the refund's amount is due in addition to the other's.
    var due: Int64?
    /// The cause; nil only in rows of an earlier program.
    var cause: Cause?
    /// The date of a refund whose evidence did not state the refunded share, so that all credits count as due. Nil once
    /// the store has stated the share.
    var presumedAt: Int64?

    static func json(_ credits: [TakenCredits]) throws -> String {
        String(decoding: try JSONEncoder().encode(credits), as: UTF8.self)
    }

    /// A value without credits.
    static func none(of currency: CurrencyID, _ cause: Cause) -> TakenCredits {
        TakenCredits(currency: currency, amount: 0, lots: [], due: 0, cause: cause)
    }

    /// The same credits, with the account's name as the currency.
    func taken(from account: CreditAccount) -> TakenCredits {
        TakenCredits(currency: account.name, amount: amount, lots: lots)
    }

    /// Adds other taken credits.
    mutating func add(_ other: TakenCredits) {
        amount += other.amount
        lots = (lots ?? []) + (other.lots ?? [])
        due = (due ?? 0) + (other.due ?? 0)
    }

    /// Reduces the amount due to `kept`, and keeps the credits that were taken first.
    ///
    /// The order in which credits were taken is: the purchase's own credits with an expiry date, credits without one,
    /// and other purchases' credits with an expiry date.
    /// - Parameter reference: the purchase's redemption key.
    /// - Returns: the remaining credits.
    mutating func keep(_ kept: Int64, ownedBy reference: String) -> TakenCredits {
        let due = due ?? 0
        var rest = TakenCredits(
            currency: currency, amount: amount - min(amount, kept), lots: [], due: due - kept, cause: cause)
        let (own, others) = (lots ?? []).reduce(into: ([Lots.Lot](), [Lots.Lot]())) { parts, lot in
            if lot.reference == reference { parts.0.append(lot) } else { parts.1.append(lot) }
        }
        let lasting = amount - (lots ?? []).reduce(0) { $0 + $1.remaining }
        var (left, keptLots) = (min(amount, kept), [Lots.Lot]())
        for lot in own.map(Optional.some) + [nil] + others.map(Optional.some) {
            let used = min(left, lot?.remaining ?? lasting)
            left -= used
            guard let lot else { continue }
            if used > 0 { keptLots.append(lot.holding(used)) }
            if used < lot.remaining { rest.lots?.append(lot.holding(lot.remaining - used)) }
        }
        (amount, lots, self.due) = (min(amount, kept), keptLots, kept)
        return rest
    }
}

extension Lots.Lot {
    /// The same lot with another amount.
    fileprivate func holding(_ amount: Int64) -> Lots.Lot {
        Lots.Lot(expiresAt: expiresAt, reference: reference, remaining: amount)
    }
}

extension [TakenCredits] {
    /// The credits taken for one cause; nil when no credits were due.
    subscript(_ currency: CurrencyID, _ cause: TakenCredits.Cause) -> TakenCredits? {
        get { first { $0.currency == currency && $0.cause == cause } }
        set {
            let index = firstIndex { $0.currency == currency && $0.cause == cause }
            switch (index, newValue) {
            case (let index?, let credits?): self[index] = credits
            case (let index?, nil): remove(at: index)
            case (nil, let credits?): append(credits)
            case (nil, nil): break
            }
        }
    }

    func of(_ cause: TakenCredits.Cause) -> [TakenCredits] { filter { $0.cause == cause } }

    /// Adds credits that were taken back for a cause.
    ///
    /// A refund and a change of plan together are due only up to the larger of the two. The refund's part is the amount
    /// beyond the other's; a reversal of the refund returns that part.
    /// - Parameters:
    ///   - reference: the purchase's redemption key.
    ///   - presumedAt: ``TakenCredits/presumedAt`` of a refund; nil when the store has stated the refunded share.
    ///   - isCorrected: whether credits that were taken beyond the share are returned.
    /// - Returns: the credits to return; nil when there are none.
    mutating func add(
        _ refund: Ledger.Refund, _ currency: CurrencyID, _ cause: TakenCredits.Cause, ownedBy reference: String,
        presumedAt: Int64?, isCorrected: Bool
    ) -> TakenCredits? {
        var credits = self[currency, cause] ?? .none(of: currency, cause)
        var excess: TakenCredits?
        let due = credits.due ?? 0
        switch cause {
        case .superseded:
            // A refund has already taken some of these credits.
            if var first = self[currency, .refund], refund.wanted > due {
                var rest = first.keep(Swift.min(first.due ?? 0, refund.wanted - due), ownedBy: reference)
                rest.presumedAt = first.presumedAt
                credits.add(first)
                self[currency, .refund] = rest
            }
        case .refund:
            let wanted = Swift.max(refund.wanted - (self[currency, .superseded]?.due ?? 0), 0)
            if wanted < due, isCorrected || presumedAt == nil && credits.presumedAt != nil {
                excess = credits.keep(wanted, ownedBy: reference)
            }
            credits.presumedAt = presumedAt
        }
        credits.add(TakenCredits(currency: currency, amount: refund.taken, lots: refund.lots, due: refund.due))
        self[currency, cause] = credits
        return excess
    }

    /// The same credits, with those taken for a change of plan counted as taken for the refund.
    var asRefunded: [TakenCredits] {
        var all = of(.refund)
        for credits in of(.superseded) {
            guard var refund = all[credits.currency, .refund], refund.due != nil, credits.due != nil else {
                var credits = credits
                credits.cause = .refund
                all.append(credits)
                continue
            }
            // The change of plan came first, so its credits count as taken first.
            var first = credits
            first.cause = .refund
            first.presumedAt = refund.presumedAt
            first.add(refund)
            refund = first
            all[credits.currency, .refund] = refund
        }
        return all
    }
}
