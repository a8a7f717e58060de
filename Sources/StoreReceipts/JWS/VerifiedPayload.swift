/// A signed payload with a verified signature and chain. Only ``ReceiptVerifier`` makes one.
public struct VerifiedPayload: Sendable, Equatable {
    /// The payload.
    public let content: SignedPayload
    /// The SHA-256 fingerprint of the root under which the payload was verified. It identifies the store that made the
    /// payload.
    public let rootFingerprint: [UInt8]

    init(content: SignedPayload, rootFingerprint: [UInt8]) {
        self.content = content
        self.rootFingerprint = rootFingerprint
    }
}
