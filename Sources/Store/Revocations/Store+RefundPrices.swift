import Database
import StoreWire

extension Store {
    /// Returns what was paid for transactions. Those that the ledger does not have are left out.
    /// - Throws: ``DatabaseError``.
    public func prices(of ids: [TransactionID]) async throws -> [TransactionID: Money] {
        let ids = Set(ids)
        return try await database.read { connection in
            var prices: [TransactionID: Money] = [:]
            for id in ids { prices[id] = try Transactions.find(id, connection)?.price }
            return prices
        }
    }
}
