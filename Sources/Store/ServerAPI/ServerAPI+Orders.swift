import CornerstoreEncoding
import Database
import StoreWire

extension ServerAPI {
    /// The most transactions of an order. Only a product that was delivered again has more than one.
    private static let mostOfOrder = 100

    /// Answers `GET /inApps/v1/lookup/{orderId}`, which Apple has in production only: `status` 0 with the order's
    /// transactions, or 1 when the app has no such order.
    /// - Throws: ``APIError`` `badRequest` for a text that no order identifier can be; ``DatabaseError``.
    public func order(_ text: String, of bundleID: BundleID) async throws -> [UInt8] {
        guard (1...OrderID.longest).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) })
        else { throw APIError.badRequest }
        let transactions = try await ordered(OrderID(text), of: bundleID)
        let owner = transactions.first?.accountID
        let customer: AppTransactionID? =
            if let owner { try await appTransactionID(of: owner, in: bundleID) } else { nil }
        var json = JSONBytes(capacity: 1_024 + transactions.count * 6_144)
        json.beginObject()
        json.member("status", number: transactions.isEmpty ? 1 : 0)
        if !transactions.isEmpty { try writeSigned(transactions, customer, to: &json) }
        json.endObject()
        return json.bytes
    }

    private func ordered(_ id: OrderID?, of bundleID: BundleID) async throws -> [Transaction] {
        guard let id, let first = try await known(id.transactionID, of: bundleID)?.transaction, first.orderID == id
        else {
            return []
        }
        guard first.kind.isOwnedOnce else { return [first] }
        return try await store.database.read { connection in
            try Transactions.chain(of: first, limit: Self.mostOfOrder, connection).filter { $0.sharedFrom == nil }
        }
    }
}
