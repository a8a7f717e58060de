import Crypto

/// What signs transactions and notifications as JWS with ES256.
public struct JWSIdentity: Sendable {
    public let privateKey: P256.Signing.PrivateKey
    /// Leaf, intermediate and root in DER, as `x5c` lists them.
    public let certificates: [[UInt8]]

    init(privateKey: P256.Signing.PrivateKey, certificates: [[UInt8]]) {
        self.privateKey = privateKey
        self.certificates = certificates
    }
}
