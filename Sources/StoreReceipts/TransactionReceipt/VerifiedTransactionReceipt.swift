import StoreWire

/// A transaction receipt whose signature and chain were found good. Only ``SignedTransactionReceipt/verified(by:)``
/// makes one.
public struct VerifiedTransactionReceipt: Sendable, Equatable {
    public let receipt: TransactionReceipt
    /// The `environment` beside the signed part. Anyone can change it, so it decides 21007 and 21008 at most where both
    /// stores share a root.
    public let statedEnvironment: StoreEnvironment
    /// The SHA-256 fingerprint of the root it was verified under, which says whose receipt it is.
    public let rootFingerprint: [UInt8]

    init(receipt: TransactionReceipt, statedEnvironment: StoreEnvironment, rootFingerprint: [UInt8]) {
        self.receipt = receipt
        self.statedEnvironment = statedEnvironment
        self.rootFingerprint = rootFingerprint
    }
}
