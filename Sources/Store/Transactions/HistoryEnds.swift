import Database
import StoreWire

/// The table `history_ends`: the highest number in the history of each account.
///
/// Callers of the Server API keep the number up to which they know a history, and ask for what follows. Numbers are
/// identifiers, which are taken before a payment, by processes whose clocks differ, so what is committed later can have
/// the lower one. The row of the account is locked until the commit. So a number that is taken here is higher than all
/// numbers in the account's history that anyone has seen, and accounts do not wait for each other.
enum HistoryEnds {
    /// Returns a number for a new or changed transaction, and makes it the end of the account's history. Call it in the
    /// database transaction that writes the number.
    /// - Parameter number: an identifier, which is returned if it is higher than the end.
    static func move(
        to number: TransactionID, of accountID: AccountID, _ connection: Connection
    ) throws -> Int64 {
        // Usually the identifier is the higher one. RETURNING would cost SQLite a table in memory each time.
        let isEnd = try connection.execute(
            """
            INSERT INTO history_ends (account_id, number) VALUES ($1, $2)
            ON CONFLICT (account_id) DO UPDATE SET number = excluded.number
            WHERE excluded.number > history_ends.number
            """, values: [.text(accountID.rawValue), .integer(number.rawValue)])
        let end = isEnd > 0 ? number.rawValue : try next(of: accountID, connection)
        // The end never goes back, also when a tester's history is cleared. But on a server that lacks this
        // transaction, another process may have sold to the account since.
        connection.witness(
            "SELECT 1 FROM history_ends WHERE account_id = $1 AND number >= $2",
            [.text(accountID.rawValue), .integer(end)], isFallback: true)
        return end
    }

    /// Raises the end of an account's history by 1. The transaction has locked its row.
    private static func next(of accountID: AccountID, _ connection: Connection) throws -> Int64 {
        let row = try connection.queryOne(
            "UPDATE history_ends SET number = number + 1 WHERE account_id = $1 RETURNING number", [accountID.rawValue])
        guard let row else { throw StoreError(.internalError, "The end of a history is not in the database.") }
        return try row.int64(0)
    }
}

extension Recorder {
    /// Returns a new number for changed transactions of an account. Call it in the database transaction that changes
    /// them.
    func change(of accountID: AccountID, _ connection: Connection) throws -> Int64 {
        try HistoryEnds.move(to: next(), of: accountID, connection)
    }
}
