import CornerstoreEncoding
import Database
import Foundation
import StoreWire

/// The `requestIdentifier` of a request for extensions, which tells a repeated request from a new one.
struct ExtensionIdentifier: Sendable, Equatable {
    /// The text as the caller wrote it.
    let text: String
    /// The text that the database compares. UUIDs are in lower case, because some of Apple's libraries send them in
    /// upper case and others in lower case.
    let key: String
}

extension ExtensionIdentifier {
    /// The most characters, in UTF-16 code units (Apple's number).
    static let longest = 128

    /// Reads an identifier. Returns nil for an empty or too long text, and for one with control characters.
    init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf16.count), text.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
        else { return nil }
        self.init(text: text, key: UUID(uuidString: text)?.uuidString.lowercased() ?? text)
    }
}

/// The terms of a request for extensions.
struct ExtensionTerms: Sendable, Equatable {
    /// The days by which periods are extended, 1 to 90.
    let days: Int
    /// Apple's `extendReasonCode`: 0 undeclared, 1 customer satisfaction, 2 other reasons, 3 a problem of the service.
    let reason: Int64
    /// Identifies the request.
    let identifier: ExtensionIdentifier
}

extension ExtensionTerms {
    /// Reads the members that both kinds of request have. Others are ignored.
    /// - Throws: ``APIError``.
    init(_ members: FlatJSONObject) throws {
        guard let days = try? members.wholeNumber("extendByDays"), (1...Int64(Store.mostExtensionDays)).contains(days)
        else { throw APIError.invalidExtendByDays }
        guard let reason = try? members.wholeNumber("extendReasonCode"), (0...3).contains(reason) else {
            throw APIError.invalidExtendReasonCode
        }
        guard let text = try? members.string("requestIdentifier"), let identifier = ExtensionIdentifier(text) else {
            throw APIError.invalidRequestIdentifier
        }
        self.init(days: Int(days), reason: reason, identifier: identifier)
    }
}

/// An extension of one subscription that a request asked for.
struct RequestedExtension: Sendable, Equatable {
    /// The first transaction of the subscription.
    let originalTransactionID: TransactionID
    /// The transaction of the period that was extended.
    let transactionID: TransactionID
    /// The new end of the period, in milliseconds since 1970.
    let effectiveDate: Int64
}

/// The table `extension_requests`: the requests that extended one subscription. A request that was refused has no row,
/// and can be sent again.
enum ExtensionRequests {
    /// The effect of a request on a subscription; nil when it had none.
    static func find(
        _ identifier: ExtensionIdentifier, of original: TransactionID, _ connection: Connection
    ) throws -> RequestedExtension? {
        try connection.queryOne(
            """
            SELECT transaction_id, effective_date FROM extension_requests
            WHERE original_transaction_id = $1 AND request_id = $2
            """, [original.rawValue, identifier.key]
        ).map { row in
            RequestedExtension(
                originalTransactionID: original, transactionID: TransactionID(rawValue: try row.int64(0)),
                effectiveDate: try row.int64(1))
        }
    }

    /// Records what a request does.
    /// - Parameter date: when it extends the subscription, in milliseconds since 1970.
    static func insert(
        _ made: RequestedExtension, _ terms: ExtensionTerms, at date: Int64, _ connection: Connection
    ) throws {
        try connection.execute(
            """
            INSERT INTO extension_requests (original_transaction_id, request_id, transaction_id, days, reason,
                effective_date, extended_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                made.originalTransactionID.rawValue, terms.identifier.key, made.transactionID.rawValue, terms.days,
                terms.reason, made.effectiveDate, date,
            ])
    }

    /// Deletes the requests of a subscription, for a tester's cleared history.
    static func delete(of original: TransactionID, _ connection: Connection) throws {
        try connection.execute(
            "DELETE FROM extension_requests WHERE original_transaction_id = $1", [original.rawValue])
    }
}
