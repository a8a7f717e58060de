import Foundation
import MerchantWire
import StoreWire

/// Credits of one currency that were taken back of a redemption, for one cause. They are kept with the redemption.
struct TakenCredits: Codable, Sendable, Equatable {
    /// Why credits were taken back.
    enum Cause: String, Codable, Sendable, CaseIterable {
        case refund
        /// Another plan took the place of the subscription's period.
        case superseded
    }

    var currency: CurrencyID
    var amount: Int64
    /// The part of ``amount`` that was to end, and when, in the order in which it was taken. Nil when an earlier
    /// program took it, which did not keep that.
    var lots: [Lots.Lot]?
    /// The amount to be taken; more than ``amount`` when the user had spent it. Nil when an earlier program took it.
    ///
    /// A refund and a change of plan overlap: the refund's part is due beside the other's.
    var due: Int64?
    /// Nil only as an earlier program wrote it.
    var cause: Cause?
    /// The date of a refund whose evidence did not say how much was refunded, so that all of it is taken as due. Nil
    /// once the store has said how much.
    var presumedAt: Int64?

    static func json(_ credits: [TakenCredits]) throws -> String {
        String(decoding: try JSONEncoder().encode(credits), as: UTF8.self)
    }

    /// Nothing yet.
    static func none(of currency: CurrencyID, _ cause: Cause) -> TakenCredits {
        TakenCredits(currency: currency, amount: 0, lots: [], due: 0, cause: cause)
    }

    /// The same of an account of the books.
    func taken(from account: CreditAccount) -> TakenCredits {
        TakenCredits(currency: account.name, amount: amount, lots: lots)
    }

    /// Adds credits that were taken in addition.
    mutating func add(_ other: TakenCredits) {
        amount += other.amount
        lots = (lots ?? []) + (other.lots ?? [])
        due = (due ?? 0) + (other.due ?? 0)
    }

    /// Keeps so much of what is due, and the credits that were taken first.
    ///
    /// A purchase's own credits that end were taken first, then those that do not end, and at last those of other
    /// purchases that end.
    /// - Parameter reference: the purchase's key.
    /// - Returns: the rest.
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
    /// So much of it.
    fileprivate func holding(_ amount: Int64) -> Lots.Lot {
        Lots.Lot(expiresAt: expiresAt, reference: reference, remaining: amount)
    }
}

extension [TakenCredits] {
    /// The credits taken for one cause; nil when none were to be taken.
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

    /// The same, with all that was taken for a change of plan counted as the refund's.
    var asRefunded: [TakenCredits] {
        var all = of(.refund)
        for credits in of(.superseded) {
            guard var refund = all[credits.currency, .refund], refund.due != nil, credits.due != nil else {
                var credits = credits
                credits.cause = .refund
                all.append(credits)
                continue
            }
            // It was due first, and so it was taken first where that is to be told apart.
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
