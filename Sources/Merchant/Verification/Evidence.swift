import StoreReceipts

/// Unverified evidence of a purchase.
public enum Evidence: Sendable, Equatable {
    /// An app receipt or an iOS 6 transaction receipt, as stored on the device.
    case receipt([UInt8])
    /// A signed transaction: a JWS in compact form.
    case signedTransaction([UInt8])

    /// The size in bytes.
    public var byteCount: Int {
        switch self {
        case .receipt(let bytes), .signedTransaction(let bytes): bytes.count
        }
    }
}
