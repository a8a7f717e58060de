/// A signed payload whose signature and chain were found good. Only ``ReceiptVerifier`` makes one.
public struct VerifiedPayload: Sendable, Equatable {
    /// What was signed.
    public let content: SignedPayload
    /// The SHA-256 fingerprint of the root it was verified under, which says whose payload it is.
    public let rootFingerprint: [UInt8]

    init(content: SignedPayload, rootFingerprint: [UInt8]) {
        self.content = content
        self.rootFingerprint = rootFingerprint
    }
}
