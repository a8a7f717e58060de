import CornerstoreEncoding
import Database
import StoreWire

extension ServerAPI {
    /// The refunds that version 1 answers with (Apple's number).
    private static let mostRefundsOfVersion1 = 50

    /// Answers `GET /inApps/v2/refund/lookup/{transactionId}`: the customer's refunded purchases in the app, those that
    /// were refunded first at the beginning.
    /// - Parameter revision: the revision of the page before; nil for the first page.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func refunds(_ id: String, revision asked: String?, of bundleID: BundleID) async throws -> [UInt8] {
        let secret = secret(of: bundleID)
        let (customer, (list, rows)) = try await read(id, of: bundleID) { customer, connection in
            let list = "refunds \(customer.accountID)"
            let after = try asked.flatMap { try Self.revision($0, for: list, secret: secret) }
            return (
                list,
                try Transactions.refunded(
                    of: customer.accountID, in: bundleID, after: after, limit: Self.page + 1, connection)
            )
        }
        let shown = Array(rows.prefix(Self.page))
        var json = JSONBytes(capacity: 1_024 + shown.count * 6_144)
        json.beginObject()
        json.member("hasMore", rows.count > Self.page)
        json.member(
            "revision",
            shown.last?.place.text(for: list, secret: secret) ?? asked ?? Self.noRevision)
        try writeSigned(shown.map(\.transaction), customer.appTransactionID, to: &json)
        json.endObject()
        return json.bytes
    }

    /// Answers `GET /inApps/v1/refund/lookup/{originalTransactionId}`: the last 50 refunded purchases.
    /// - Throws: ``APIError``; ``DatabaseError``.
    public func lastRefunds(_ id: String, of bundleID: BundleID) async throws -> [UInt8] {
        let (customer, rows) = try await read(id, of: bundleID) { customer, connection in
            try Transactions.lastRefunded(
                of: customer.accountID, in: bundleID, limit: Self.mostRefundsOfVersion1, connection)
        }
        var json = JSONBytes(capacity: 1_024 + rows.count * 6_144)
        json.beginObject()
        try writeSigned(rows, customer.appTransactionID, to: &json)
        json.endObject()
        return json.bytes
    }
}
