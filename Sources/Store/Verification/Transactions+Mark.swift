import Database
import StoreWire

extension Transactions {
    /// The newest rows that tell two states of a ledger apart. A row gets its number a moment before it is written, so
    /// rows with higher numbers can be visible earlier, but not this many.
    private static let markedRows = 32

    /// The numbers of a receipt's rows: of the transactions that stay in it, of the changes, and of the unfinished
    /// consumables. Each kind has an index.
    private static let markedNumbers = [
        (number: "transaction_id", condition: "kind <> 'consumable'", limit: markedRows),
        (number: "changed", condition: "changed IS NOT NULL", limit: markedRows),
        (
            number: "transaction_id", condition: "finished_at IS NULL AND kind = 'consumable'",
            limit: mostConsumablesInReceipt
        ),
    ]

    // Numbers are below 2^53, so that the sum of 1,000 fits.
    private static let markText =
        markedNumbers.enumerated().map { index, marked -> String in
            """
            SELECT \(index), count(*), max(number), CAST(sum(number) AS BIGINT) FROM (
                SELECT \(marked.number) AS number FROM transactions
                WHERE account_id = $1 AND bundle_id = $2 AND \(marked.condition)
                ORDER BY \(marked.number) DESC LIMIT \(marked.limit)) AS newest
            """
        }.joined(separator: "\nUNION ALL\n") + "\nORDER BY 1"

    /// Numbers that differ when the transactions of a receipt do: the counts, the maxima and the sums of the newest
    /// transactions that stay in the receipt, of the last changes, and of the unfinished consumables.
    ///
    /// Finishing anything but a consumable changes no receipt.
    static func mark(
        of accountID: AccountID, in bundleID: BundleID, _ connection: Connection
    ) throws -> [SQLValue] {
        try connection.query(markText, [accountID.rawValue, bundleID.rawValue]).flatMap(\.values)
    }
}
