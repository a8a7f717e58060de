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
    /// - each entry that the backend ordered exists, and no others;
    /// - each right is one that redeemed purchases gave, and ends or is revoked as they say.
    ///
    /// Each page of accounts is read in one snapshot, so that the check can run while the merchant works.
    ///
    /// - Parameter pageSize: the number of accounts that one query reads.
    /// - Throws: ``DatabaseError``.
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
        while let after = last, findings.count < 100 {
            let page = try await database.read { connection in
                try BooksPage.proveRights(after: after, limit: pageSize, connection)
            }
            findings += page.findings
            last = page.last
        }
        return findings
    }
}
