import Database
import MerchantWire
import StoreWire

/// A page of accounts and the findings about them.
struct BooksPage: Sendable {
    struct Account: Sendable {
        var user: UserID
        var currency: CurrencyID
        var balance: Int64
        var entries: Int64
    }

    var accounts: [Account]
    var findings: [String]

    static func read(
        after last: (user: String, currency: String)?, limit: Int, _ connection: Connection
    ) throws -> BooksPage {
        var page = BooksPage(accounts: [], findings: [])
        for (user, currency) in try Ledger.accounts(after: last, limit: limit, connection) {
            guard let standing = try Ledger.standing(of: user, currency, connection) else { continue }
            let account = Account(
                user: user, currency: currency, balance: standing.posting.balance, entries: standing.posting.entry)
            page.accounts.append(account)
            try page.prove(account, connection)
        }
        return page
    }

    private mutating func prove(_ account: Account, _ connection: Connection) throws {
        let name = "\(account.user)/\(account.currency)"
        let sums = try Ledger.sums(of: account.user, account.currency, connection)
        let (count, sum, counter) = (sums.count, sums.amount, sums.counterAmount)
        if count != account.entries {
            findings.append("\(name): expected \(account.entries) entries, found \(count)")
        }
        if sum != account.balance {
            findings.append("\(name): the sum of the entries is \(sum), but the balance is \(account.balance)")
        }
        if sum + counter != 0 { findings.append("\(name): the postings do not sum to zero") }
        let remaining = try Lots.remaining(of: account.user, account.currency, connection)
        if remaining > max(account.balance, 0) {
            findings.append("\(name): \(remaining) credits have an expiry date, but the balance is \(account.balance)")
        }
        for (check, complaint) in Self.checks {
            let count = try check(account.user, account.currency, connection)
            if count > 0 { findings.append("\(name): \(count) \(complaint)") }
        }
    }

    /// The checks of an account's entries, each with the text about the entries that it finds.
    private static let checks: [(check: Check, complaint: String)] = [
        (Ledger.breaks, "entries do not continue from the previous balance"),
        (Ledger.entriesWithoutRedemption, "grants or refunds have no redeemed purchase"),
        (Ledger.unordered, "adjustments or spends were not ordered by the backend"),
        (Ledger.undone, "orders of the backend have no ledger entry"),
        (Ledger.reversed, "entries have the wrong sign for their kind"),
    ]

    private typealias Check = @Sendable (UserID, CurrencyID, Connection) throws -> Int64

    /// Finds expiring credits and orders of the backend in accounts without entries.
    static func orphans(_ connection: Connection) throws -> [String] {
        try Ledger.lotsWithoutEntries(connection).map { "\($0): credits with an expiry date have no ledger entries" }
            + Ledger.ordersWithoutEntries(connection).map { "\($0): orders of the backend have no ledger entries" }
    }
}
