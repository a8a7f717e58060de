/// A receipt that a ``ReceiptSigner`` signed, as it goes to a device.
public struct SignedReceipt: Sendable, Equatable {
    /// The CMS message in DER.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}
