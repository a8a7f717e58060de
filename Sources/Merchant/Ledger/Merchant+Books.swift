import Database
import MerchantWire
import StoreWire

extension Merchant {
    /// Checks the ledger and users' rights. For each account, in each environment separately:
    ///
    /// - the entries are numbered without a gap;
    /// - each balance is the one before it plus the entry's amount;
    /// - the credits with an expiry date do not exceed the balance;
    /// - each redemption's credits were granted, and no others;
    /// - each refund's credits were taken;
    /// - each entry that the backend ordered exists, and no others.
    ///
    /// Each page of accounts is read in one snapshot, so that the check can run while the merchant works.
    ///
    /// - Parameter pageSize: the number of accounts that one query reads.
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
        report.findings += try await database.read { try BooksPage.orphans($0) }
        report.findings += try await proveRedemptions(pageSize)
        report.findings += try await proveRights(pageSize)
        report.findings = Array(report.findings.prefix(100))
        report.outstanding =
            totals.sorted { $0.key < $1.key }.map { CreditAccount(named: $0.key).balance(of: $0.value) }
            .inOrder
        return report
    }
}

extension Merchant {
    /// Checks that each redemption's credits were granted once and in full.
    private func proveRedemptions(_ pageSize: Int) async throws -> [String] {
        var findings: [String] = []
        var last: String? = ""
        while let after = last, findings.count < 100 {
            let page = try await database.read { connection in
                let rows = try RedemptionRow.page(after: after, limit: pageSize, connection)
                return (
                    findings: try BooksPage.proveRedemptions(rows, connection), last: rows.last?.key, count: rows.count
                )
            }
            findings += page.findings
            last = page.count == pageSize ? page.last : nil
        }
        return findings
    }
}

extension Merchant {
    /// Checks that redeemed purchases granted the users' rights.
    private func proveRights(_ pageSize: Int) async throws -> [String] {
        var findings: [String] = []
        var last: BooksPage.RightKey? = .first
        let now = now()
        while let after = last, findings.count < 100 {
            let page = try await database.read { connection in
                try BooksPage.proveRights(after: after, limit: pageSize, at: now, connection)
            }
            findings += page.findings
            last = page.last
        }
        return findings
    }
}

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
        let rows = try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM ledger_entries
            WHERE (user_id, currency) > ($1, $2) ORDER BY user_id, currency LIMIT $3
            """, [last?.user ?? "", last?.currency ?? "", limit])
        for row in rows {
            let (user, currency) = (UserID(try row.string(0)), CurrencyID(try row.string(1)))
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
        let key = [account.user.rawValue, account.currency.rawValue]
        let sums = try connection.queryOne(
            """
            SELECT count(*), CAST(coalesce(sum(amount), 0) AS BIGINT), CAST(coalesce(sum(counter_amount), 0) AS BIGINT)
            FROM ledger_entries WHERE user_id = $1 AND currency = $2
            """, key)
        guard let sums else { return }
        let (count, sum, counter) = (try sums.int64(0), try sums.int64(1), try sums.int64(2))
        if count != account.entries {
            findings.append("\(name): expected \(account.entries) entries, found \(count)")
        }
        if sum != account.balance {
            findings.append("\(name): the sum of the entries is \(sum), but the balance is \(account.balance)")
        }
        if sum + counter != 0 { findings.append("\(name): the postings do not sum to zero") }
        let breaks = try connection.queryOne(
            """
            SELECT count(*) FROM (SELECT balance, amount,
                    lag(balance, 1, 0) OVER (ORDER BY entry) AS earlier
                FROM ledger_entries WHERE user_id = $1 AND currency = $2) AS steps
            WHERE balance <> earlier + amount
            """, key)
        if let steps = try breaks?.int64(0), steps > 0 {
            findings.append("\(name): \(steps) entries do not continue from the previous balance")
        }
        let lots = try connection.queryOne(
            """
            SELECT CAST(coalesce(sum(remaining), 0) AS BIGINT) FROM credit_lots WHERE user_id = $1 AND currency = $2
            """, key)
        if let remaining = try lots?.int64(0), remaining > max(account.balance, 0) {
            findings.append("\(name): \(remaining) credits have an expiry date, but the balance is \(account.balance)")
        }
        try proveGrants(account, name, connection)
        try proveOrders(account, name, connection)
    }

    /// Checks that each adjustment and each spend by the backend was recorded as an order, and that each order has its
    /// entry.
    private mutating func proveOrders(_ account: Account, _ name: String, _ connection: Connection) throws {
        let key = [account.user.rawValue, account.currency.rawValue]
        let unordered = try connection.queryOne(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND (kind = 'adjustment' OR caller = 'backend')
                AND NOT EXISTS (SELECT 1 FROM backend_postings WHERE backend_postings.user_id = $1
                    AND posting_key = ledger_entries.reference AND backend_postings.currency = $2
                    AND backend_postings.entry = ledger_entries.entry
                    AND backend_postings.amount = ledger_entries.amount)
            """, key)
        if let count = try unordered?.int64(0), count > 0 {
            findings.append("\(name): \(count) adjustments or spends were not ordered by the backend")
        }
        let undone = try connection.queryOne(
            """
            SELECT count(*) FROM backend_postings WHERE user_id = $1 AND currency = $2
                AND NOT EXISTS (SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = $1
                    AND ledger_entries.currency = $2 AND ledger_entries.entry = backend_postings.entry
                    AND reference = posting_key AND ledger_entries.amount = backend_postings.amount
                    AND kind IN ('spend', 'adjustment'))
            """, key)
        if let count = try undone?.int64(0), count > 0 {
            findings.append("\(name): \(count) orders of the backend have no ledger entry")
        }
        let reversed = try connection.queryOne(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND (kind IN ('spend', 'refund', 'expiry') AND amount > 0
                    OR kind IN ('grant', 'refundReversal') AND amount < 0)
            """, key)
        if let count = try reversed?.int64(0), count > 0 {
            findings.append("\(name): \(count) entries have the wrong sign for their kind")
        }
    }

    /// Checks that each grant, refund and refund reversal has a redemption whose credits are this user's.
    private mutating func proveGrants(_ account: Account, _ name: String, _ connection: Connection) throws {
        let ungrounded = try connection.queryOne(
            """
            SELECT count(*) FROM ledger_entries WHERE user_id = $1 AND currency = $2
                AND kind IN ('grant', 'refund', 'refundReversal')
                AND NOT EXISTS (SELECT 1 FROM redemptions WHERE redemption_key = ledger_entries.reference
                    AND state IN ('granted', 'revoked') AND coalesce(credited_user, redemptions.user_id) = $1)
            """, [account.user.rawValue, account.currency.rawValue])
        if let count = try ungrounded?.int64(0), count > 0 {
            findings.append("\(name): \(count) grants or refunds have no redeemed purchase")
        }
    }

    /// Finds expiring credits and orders of the backend in accounts without entries.
    static func orphans(_ connection: Connection) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT user_id, currency FROM credit_lots WHERE NOT EXISTS (
                SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = credit_lots.user_id
                    AND ledger_entries.currency = credit_lots.currency) LIMIT 100
            """
        ).map { "\(try $0.string(0))/\(try $0.string(1)): credits with an expiry date have no ledger entries" }
            + connection.query(
                """
                SELECT DISTINCT user_id, currency FROM backend_postings WHERE NOT EXISTS (
                    SELECT 1 FROM ledger_entries WHERE ledger_entries.user_id = backend_postings.user_id
                        AND ledger_entries.currency = backend_postings.currency) LIMIT 100
                """
            ).map { "\(try $0.string(0))/\(try $0.string(1)): orders of the backend have no ledger entries" }
    }
}
