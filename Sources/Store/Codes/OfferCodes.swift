import Database
import StoreWire

/// A one-time code for an offer of a subscription.
public struct OfferCode: Sendable, Equatable {
    /// The code, in capital letters and digits.
    public var code: String
    /// The batch that the code belongs to.
    public var batchID: String
    /// The account that redeemed the code; nil until then.
    public var accountID: AccountID?
}

/// The table `offer_codes`: the one-time codes.
enum OfferCodes {
    private static let columns = "code, batch_id, account_id"
    /// The codes that one statement inserts.
    private static let mostInserted = 250

    static func find(_ code: String, _ connection: Connection) throws -> OfferCode? {
        try connection.queryOne("SELECT \(columns) FROM offer_codes WHERE code = $1", [code]).map {
            try OfferCode($0)
        }
    }

    /// The codes of a batch, in alphabetical order.
    static func page(
        of batchID: String, after code: String?, limit: Int, _ connection: Connection
    ) throws -> [OfferCode] {
        try connection.query(
            "SELECT \(columns) FROM offer_codes WHERE batch_id = $1 AND code > $2 ORDER BY code LIMIT $3",
            [batchID, code ?? "", limit]
        ).map { try OfferCode($0) }
    }

    static func insert(_ codes: [String], of batchID: String, _ connection: Connection) throws {
        var rest = codes[...]
        while !rest.isEmpty {
            let part = rest.prefix(mostInserted)
            rest = rest.dropFirst(part.count)
            let rows = part.indices.map { "($\($0 - part.startIndex + 2), $1)" }.joined(separator: ", ")
            try connection.execute(
                "INSERT INTO offer_codes (code, batch_id) VALUES \(rows)",
                [SQLValue.text(batchID)] + part.map { SQLValue.text($0) })
        }
    }

    /// Marks a code as redeemed. Returns false when it was redeemed before.
    static func claim(_ code: String, for accountID: AccountID, _ connection: Connection) throws -> Bool {
        try connection.execute(
            "UPDATE offer_codes SET account_id = $2 WHERE code = $1 AND account_id IS NULL",
            [code, accountID.rawValue]) == 1
    }
}

extension OfferCode {
    fileprivate init(_ row: Row) throws {
        self.init(
            code: try row.string(0), batchID: try row.string(1),
            accountID: try row.optionalString(2).map { AccountID($0) })
    }
}
