import Database
import MerchantWire
import StoreWire

extension BooksPage {
    /// Checks a page of redemptions: all credits of each were granted, the ledger has all credits that refunds and
    /// changes of plan took back, and one account of each currency has both.
    ///
    /// Reads each user's ledger once.
    /// - Parameter redemptions: the redemptions, in the database's order of their keys.
    /// - Returns: one finding for each inconsistent redemption, in the same order.
    static func proveRedemptions(_ redemptions: [RedemptionRow], _ connection: Connection) throws -> [String] {
        let credited = redemptions.enumerated().filter { !$0.element.creditedUser.rawValue.isEmpty }
        var findings: [(index: Int, text: String)] = []
        for (user, rows) in Dictionary(grouping: credited, by: \.element.creditedUser) {
            guard let first = rows.first?.element.key, let last = rows.last?.element.key else { continue }
            let booked = try Ledger.booked(user, from: first, to: last, connection)
            for (index, row) in rows {
                if let finding = row.finding(booked[row.key] ?? []) { findings.append((index, finding)) }
            }
        }
        return findings.sorted { $0.index < $1.index }.map(\.text)
    }
}

/// The credits of one redemption in one account, according to the ledger.
struct BookedCredits {
    var account: CreditAccount
    var granted: Int64
    /// The credits that were taken back and not returned.
    var taken: Int64
}

extension RedemptionRow {
    /// The first inconsistency between the redemption and the ledger; nil when there is none.
    fileprivate func finding(_ booked: [BookedCredits]) -> String? {
        if state == .granted, takenBack.contains(where: { $0.cause == .refund || supersededAt == nil }) {
            return "\(key): the purchase is granted, but a refund took credits back"
        }
        var owed: [CurrencyID: (granted: Int64, taken: Int64)] = [:]
        for case .credits(let currency, let amount, _) in credits { owed[currency, default: (0, 0)].granted += amount }
        for credits in takenBack { owed[credits.currency, default: (0, 0)].taken += credits.amount }
        let accounts = Dictionary(grouping: booked, by: \.account.currency)
        for currency in Set(owed.keys).union(accounts.keys).sorted() {
            let all = accounts[currency] ?? []
            // The policy at the time of the redemption chose the account. All entries of the purchase are in it.
            guard all.count <= 1 else {
                let names = all.map(\.account.name.rawValue).joined(separator: ", ")
                return "\(key): its \(currency) entries are in \(all.count) accounts: \(names)"
            }
            if all.first?.account.environment == .sandbox, RedemptionKey.environment(of: key) == .production {
                return "\(key): bought in production, but its \(currency) are in a sandbox account"
            }
            let (granted, taken) = (all.first?.granted ?? 0, all.first?.taken ?? 0)
            let due = owed[currency] ?? (0, 0)
            if granted != due.granted {
                return "\(key): expected \(due.granted) granted \(currency), found \(granted)"
            }
            if taken != due.taken {
                return "\(key): expected \(due.taken) \(currency) taken back, found \(taken)"
            }
        }
        return nil
    }
}
