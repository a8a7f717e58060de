import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// Proves the books, account by account: the entries are numbered without a gap, each balance is the one before it plus the
    /// entry's amount, the kept balance is the last one, the credits that end are no more than it, and what was redeemed was granted
    /// and nothing else. Each page of accounts is proved as it stood at one moment, so that it can be done while the merchant works.
    ///
    /// - Parameter pageSize: accounts proved at once.
    public func checkBooks(pageSize: Int = 500) async throws -> BooksReport {
        var report = BooksReport(accounts: 0, entries: 0, outstanding: [], findings: [])
        var totals: [CurrencyID: Int64] = [:]
        var last: (user: String, currency: String)?
        repeat {
            let after = last
            let page = try await database.read { connection in
                try BooksPage.read(after: after, limit: pageSize, connection)
            }
            for account in page.accounts {
                report.accounts += 1
                report.entries += account.entries
                totals[account.currency, default: 0] += account.balance
            }
            report.findings += page.findings
            last =
                page.accounts.count == pageSize
                ? page.accounts.last.map { ($0.user.rawValue, $0.currency.rawValue) } : nil
        } while last != nil && report.findings.count < 100
        report.findings += try await database.read { try BooksPage.strays($0) }
        report.findings += try await proveRedemptions(pageSize)
        report.findings = Array(report.findings.prefix(100))
        report.outstanding = totals.sorted { $0.key < $1.key }.map { Balance(currency: $0.key, amount: $0.value) }
        return report
    }
}

extension Merchant {
    /// What was redeemed was granted, once and in full.
    private func proveRedemptions(_ pageSize: Int) async throws -> [String] {
        var findings: [String] = []
        var last: String? = ""
        while let after = last, findings.count < 100 {
            let page = try await database.read { connection in
                let rows = try connection.query(
                    """
                    SELECT redemption_key, user_id, grants FROM redemptions
                    WHERE redemption_key > $1 ORDER BY redemption_key LIMIT $2
                    """, [after, pageSize])
                let findings = try rows.compactMap { row in
                    try BooksPage.proveRedemption(
                        try row.string(0), UserID(try row.string(1)), try row.string(2), connection)
                }
                return (findings: findings, last: try rows.last?.string(0), count: rows.count)
            }
            findings += page.findings
            last = page.count == pageSize ? page.last : nil
        }
        return findings
    }
}

/// Some accounts, proved.
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
        let rows = try connection.query(
            """
            SELECT user_id, currency, balance, entries, next_expiry FROM balances
            WHERE (user_id, currency) > ($1, $2) ORDER BY user_id, currency LIMIT $3
            """, [last?.user ?? "", last?.currency ?? "", limit])
        for row in rows {
            let account = Account(
                user: UserID(try row.string(0)), currency: CurrencyID(try row.string(1)),
                balance: try row.int64(2), entries: try row.int64(3))
            page.accounts.append(account)
            try page.prove(account, nextExpiry: try row.optionalInt64(4), connection)
        }
        return page
    }

    private mutating func prove(_ account: Account, nextExpiry: Int64?, _ connection: Connection) throws {
        let name = "\(account.user)/\(account.currency)"
        let key = [account.user.rawValue, account.currency.rawValue]
        let sums = try connection.queryOne(
            """
            SELECT count(*), CAST(coalesce(sum(amount), 0) AS BIGINT), CAST(coalesce(sum(counter_amount), 0) AS BIGINT),
                max(entry)
            FROM ledger_entries WHERE user_id = $1 AND currency = $2
            """, key)
        guard let sums else { return }
        let (count, sum, counter) = (try sums.int64(0), try sums.int64(1), try sums.int64(2))
        if try count != account.entries || sums.optionalInt64(3) != account.entries {
            findings.append("\(name): there are \(count) entries, and the account counts \(account.entries)")
        }
        if sum != account.balance {
            findings.append("\(name): the entries sum up to \(sum), and the balance is \(account.balance)")
        }
        if sum + counter != 0 { findings.append("\(name): the postings of both sides do not sum to zero") }
        let breaks = try connection.queryOne(
            """
            SELECT count(*) FROM (SELECT balance, amount,
                    lag(balance, 1, 0) OVER (ORDER BY entry) AS earlier
                FROM ledger_entries WHERE user_id = $1 AND currency = $2) AS steps
            WHERE balance <> earlier + amount
            """, key)
        if let steps = try breaks?.int64(0), steps > 0 {
            findings.append("\(name): \(steps) entries do not go on from the one before")
        }
        let lots = try connection.queryOne(
            """
            SELECT CAST(coalesce(sum(remaining), 0) AS BIGINT), min(expires_at) FROM credit_lots
            WHERE user_id = $1 AND currency = $2
            """, key)
        if let lots {
            let remaining = try lots.int64(0)
            if remaining > max(account.balance, 0) {
                findings.append("\(name): \(remaining) credits are to end, and the balance is \(account.balance)")
            }
            if try lots.optionalInt64(1) != nextExpiry { findings.append("\(name): the next expiry is not the lots'") }
        }
        try proveGrants(account, name, connection)
    }

    /// Each grant has a redemption of the user's behind it, and none has two in one currency.
    private mutating func proveGrants(_ account: Account, _ name: String, _ connection: Connection) throws {
        let ungrounded = try connection.queryOne(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2 AND kind = 'grant'
                AND NOT EXISTS (SELECT 1 FROM redemptions WHERE redemption_key = ledger_entries.reference
                    AND state IN ('granted', 'revoked'))
            """, [account.user.rawValue, account.currency.rawValue])
        if let count = try ungrounded?.int64(0), count > 0 {
            findings.append("\(name): \(count) grants have no redeemed purchase behind them")
        }
    }

    /// What is wrong about a redemption's credits; nil when they are all there.
    static func proveRedemption(
        _ key: String, _ user: UserID, _ grants: String, _ connection: Connection
    ) throws -> String? {
        guard !user.rawValue.isEmpty else { return nil }
        var owed: [CurrencyID: Int64] = [:]
        for case .credits(let currency, let amount, _) in try ProductCatalog.grants(grants) {
            owed[currency, default: 0] += amount
        }
        for (currency, amount) in owed {
            let row = try connection.queryOne(
                """
                SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM ledger_entries
                WHERE user_id = $1 AND currency = $2 AND kind = 'grant' AND reference = $3
                """, [user.rawValue, currency.rawValue, key])
            let granted = try row?.int64(0) ?? 0
            if granted != amount { return "\(key): gives \(amount) \(currency), and \(granted) were granted" }
        }
        return nil
    }

    /// Entries of accounts that do not exist.
    static func strays(_ connection: Connection) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM ledger_entries WHERE entry = 1 AND NOT EXISTS (
                SELECT 1 FROM balances WHERE balances.user_id = ledger_entries.user_id
                    AND balances.currency = ledger_entries.currency) LIMIT 100
            """
        ).map { "\(try $0.string(0))/\(try $0.string(1)): there are entries and no account" }
    }
}
