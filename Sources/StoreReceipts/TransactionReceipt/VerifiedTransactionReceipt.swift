import StoreWire

/// A transaction receipt with a verified signature and chain. Only ``SignedTransactionReceipt/verified(by:)`` makes
/// one.
public struct VerifiedTransactionReceipt: Sendable, Equatable {
    /// The contents of the receipt.
    public let receipt: TransactionReceipt
    /// The `environment` outside the signed part. Anyone can change it, so it may decide 21007 and 21008 only where
    /// both stores share a root.
    public let statedEnvironment: StoreEnvironment
    /// The SHA-256 fingerprint of the root under which the receipt was verified. It identifies the store that made the
    /// receipt.
    public let rootFingerprint: [UInt8]

    init(receipt: TransactionReceipt, statedEnvironment: StoreEnvironment, rootFingerprint: [UInt8]) {
        self.receipt = receipt
        self.statedEnvironment = statedEnvironment
        self.rootFingerprint = rootFingerprint
    }
}
