import StoreReceipts

/// What proves a purchase, unproven yet.
public enum Evidence: Sendable, Equatable {
    /// An app receipt or an iOS 6 transaction receipt, as the device holds it.
    case receipt([UInt8])
    /// A signed transaction: a JWS in compact form.
    case signedTransaction([UInt8])

    /// How many bytes it has.
    public var byteCount: Int {
        switch self {
        case .receipt(let bytes), .signedTransaction(let bytes): bytes.count
        }
    }
}
