/// An app receipt with a verified signature, chain and payload. Only ``ReceiptVerifier`` makes one.
public struct VerifiedReceipt: Sendable {
    /// The contents of the receipt.
    public let receipt: AppReceipt
    /// The SHA-256 fingerprint of the root under which the receipt was verified. It identifies the store that made the
    /// receipt.
    public let rootFingerprint: [UInt8]

    init(receipt: AppReceipt, rootFingerprint: [UInt8]) {
        self.receipt = receipt
        self.rootFingerprint = rootFingerprint
    }
}
