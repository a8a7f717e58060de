import StoreWire

/// The identifier of a customer's app transaction: one for each customer and app, with 18 digits beginning with 7.
///
/// It is made of the customer's first transaction in the app. When a tester's history is cleared, ``AppCustomers`` keep
/// that transaction's identifier, so that the customer's stays the same.
struct AppTransactionID: Sendable, Equatable, CustomStringConvertible {
    /// The customer's first transaction in the app.
    let first: TransactionID

    private static let base: Int64 = 700_000_000_000_000_000

    init(_ first: TransactionID) { self.first = first }

    /// Reads an identifier; nil when the text is not one.
    init?(_ text: String) {
        guard text.utf8.count == 18, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text),
            let first = TransactionID(String(number - Self.base))
        else { return nil }
        self.first = first
    }

    var description: String { String(Self.base + first.rawValue) }
}
