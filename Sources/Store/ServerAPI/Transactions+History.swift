import Database
import StoreWire

/// A page of a customer's history.
struct HistoryPage: Sendable {
    var transactions: [Transaction] = []
    /// The last row that was looked at, after which the next page begins; nil for the beginning.
    var end: PageRevision?
    /// Whether more transactions can follow.
    var hasMore = false
}

extension Transactions {
    /// The most rows that are read at once.
    private static let mostReadAtOnce = 200
    /// The most rows that one page looks at, about. A query that leaves many out goes on with the next page.
    private static let mostLookedAt = 2_000

    /// A customer's transactions in an app, in the order in which they were bought or last changed.
    ///
    /// The number of a transaction is its identifier, until a refund, a reversal, a change of plan, of its end or of
    /// its user name changes it, and then the number of the change. A changed transaction moves to the end, and a
    /// caller who reads page after page can see it twice. A later commit has a higher number than everything that was
    /// seen before (``HistoryEnds``), so a caller who keeps a place misses nothing.
    /// - Parameters:
    ///   - place: the end of the page before; nil for the first page.
    ///   - limit: the most transactions.
    static func history(
        of accountID: AccountID, in bundleID: BundleID, _ query: HistoryQuery, after place: PageRevision?, limit: Int,
        _ connection: Connection
    ) throws -> HistoryPage {
        var page = HistoryPage(end: place)
        var (count, looked) = (limit + 1, 0)
        while looked < mostLookedAt {
            let rows = try historyRows(
                of: accountID, in: bundleID, after: page.end, isDescending: query.isDescending, limit: count,
                connection)
            for row in rows {
                if query.includes(row.transaction) {
                    guard page.transactions.count < limit else {
                        page.hasMore = true
                        return page
                    }
                    page.transactions.append(row.transaction)
                }
                page.end = row.place
            }
            guard rows.count == count else { return page }
            looked += count
            count = mostReadAtOnce
        }
        page.hasMore = true
        return page
    }

    /// The rows after a place. Each part is in an index in the order of its numbers.
    private static func historyRows(
        of accountID: AccountID, in bundleID: BundleID, after place: PageRevision?, isDescending: Bool, limit: Int,
        _ connection: Connection
    ) throws -> [(place: PageRevision, transaction: Transaction)] {
        let (comparison, order) = isDescending ? ("<", "DESC") : (">", "ASC")
        let end = isDescending ? Int64(1) << 53 : 0
        let start = place ?? PageRevision(order: end, transactionID: end)
        let arguments: [any SQLConvertible] = [accountID.rawValue, bundleID.rawValue, limit, start.order]
        func rows(
            _ number: String, _ condition: String, sortedBy sorting: String, _ more: [any SQLConvertible] = []
        ) throws -> [Row] {
            try connection.query(
                """
                SELECT \(Transaction.columns), \(number) AS number FROM transactions
                WHERE account_id = $1 AND bundle_id = $2 AND \(condition) ORDER BY \(sorting) LIMIT $3
                """, arguments + more)
        }
        var all: [Row] = []
        for finished in ["NULL", "NOT NULL"] {
            all += try rows(
                "transaction_id",
                "finished_at IS \(finished) AND changed IS NULL AND transaction_id \(comparison) $4",
                sortedBy: "transaction_id \(order)")
        }
        all += try rows(
            "changed", "changed IS NOT NULL AND (changed, transaction_id) \(comparison) ($4, $5)",
            sortedBy: "changed \(order), transaction_id \(order)", [start.transactionID])
        var found = try all.map { row in
            let transaction = try Transaction(row)
            let place = PageRevision(
                order: try row.int64(Transaction.columnCount), transactionID: transaction.transactionID.rawValue)
            return (place: place, transaction: transaction)
        }
        found.sort { one, other in
            let (first, second) = isDescending ? (other.place, one.place) : (one.place, other.place)
            return (first.order, first.transactionID) < (second.order, second.transactionID)
        }
        return Array(found.prefix(limit))
    }
}
