/// The two kinds of receipt that `receipt-data` can hold.
public enum ReceiptKind: Sendable, Equatable {
    /// The PKCS#7 app receipt of iOS 7 and macOS.
    case app
    /// The property list that iOS 6 gave for each transaction.
    case transaction

    /// Detects the kind by the first bytes; nil if they match neither. It does not check the rest.
    public static func detect(_ bytes: [UInt8]) -> ReceiptKind? {
        // PKCS#7 begins with the tag of a SEQUENCE.
        if bytes.first == 0x30 { return .app }
        let first = bytes.prefix(64).first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        return first == UInt8(ascii: "{") ? .transaction : nil
    }
}
