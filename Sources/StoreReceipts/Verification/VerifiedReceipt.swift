/// An app receipt whose signature, chain and payload were found good. Only ``ReceiptVerifier`` makes one.
public struct VerifiedReceipt: Sendable {
    public let receipt: AppReceipt
    /// The SHA-256 fingerprint of the root it was verified under, which says whose receipt it is.
    public let rootFingerprint: [UInt8]

    init(receipt: AppReceipt, rootFingerprint: [UInt8]) {
        self.receipt = receipt
        self.rootFingerprint = rootFingerprint
    }
}
