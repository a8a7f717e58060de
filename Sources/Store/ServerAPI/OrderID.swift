import StoreWire

/// The order identifier of a purchase, which customers see and tell the app's support, such as `M5F3K8QW02H7C`.
///
/// It is the number of the transaction in another notation: `M`, eleven digits to the base 32 and a check digit. The
/// deliveries of a product that is owned once belong to the order of the first. Apple's identifiers have the same
/// letters and no documented structure.
public struct OrderID: Sendable, Equatable, CustomStringConvertible {
    /// The first transaction of the order.
    let transactionID: TransactionID

    private static let prefix = UInt8(ascii: "M")
    private static let digitCount = 11
    /// Digits and capital letters without I, L, O and U, which are easily mistaken.
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    /// A prime below 32, so that nearly every wrong digit, and two that changed places, are noticed.
    private static let modulus: Int64 = 29
    /// The longest text that can be an order identifier of Apple or the store, in bytes.
    static let longest = 64

    init(_ transactionID: TransactionID) { self.transactionID = transactionID }

    /// Reads an order identifier in capital or small letters; nil when the text is not one.
    public init?(_ text: String) {
        let bytes = text.utf8.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 - 0x20 : $0 }
        guard bytes.count == Self.digitCount + 2, bytes.first == Self.prefix else { return nil }
        var number: Int64 = 0
        for byte in bytes[1...Self.digitCount] {
            guard let digit = Self.digits.firstIndex(of: byte) else { return nil }
            number = number << 5 | Int64(digit)
        }
        guard bytes.last == Self.digits[Int(number % Self.modulus)], let id = TransactionID("\(number)") else {
            return nil
        }
        transactionID = id
    }

    /// The identifier in capital letters.
    public var description: String {
        let number = transactionID.rawValue
        let places = (0..<Self.digitCount).reversed().map { Self.digits[Int(number >> (5 * Int64($0)) & 31)] }
        return String(decoding: [Self.prefix] + places + [Self.digits[Int(number % Self.modulus)]], as: UTF8.self)
    }
}

extension Transaction {
    /// The order of the purchase; nil for a transaction that a family shares, which nobody ordered.
    public var orderID: OrderID? {
        guard sharedFrom == nil else { return nil }
        return OrderID(kind.isOwnedOnce ? originalTransactionID : transactionID)
    }
}
