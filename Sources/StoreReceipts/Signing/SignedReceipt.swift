/// A receipt that a ``ReceiptSigner`` signed, in the form that a device receives.
public struct SignedReceipt: Sendable, Equatable {
    /// The CMS message in DER.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}
