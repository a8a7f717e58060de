import Crypto
import X509

/// The name and key of a root certificate, which make it a trust anchor (RFC 5280, section 6.1.1). An authority that
/// renews its root certificate keeps both.
public struct RootIdentity: Hashable, Sendable {
    /// SHA-256 of the subject and of SubjectPublicKeyInfo, one after the other, as they are encoded in the certificate.
    public let digest: [UInt8]

    /// Creates an identity from its digest.
    public init(digest: [UInt8]) { self.digest = digest }

    /// Reads the identity of a certificate in DER. Nil for bytes that are not a certificate. The certificate's
    /// signature is not checked.
    public init?(der: [UInt8]) {
        let identity = try? der.withUnsafeBufferPointer { buffer -> SHA256.Digest in
            let raw = UnsafeRawBufferPointer(buffer)
            let fields = try CertificateFields(raw, 0..<raw.count)
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: raw[fields.subject]))
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: raw[fields.publicKeyInfo]))
            return hash.finalize()
        }
        guard let identity else { return nil }
        digest = Array(identity)
    }

    /// Whether a certificate in DER is issued in its own name and signed with its own key.
    public static func isSelfSigned(_ der: [UInt8]) -> Bool {
        guard let certificate = try? Certificate(derEncoded: der) else { return false }
        return certificate.isEquivalent(toRoot: certificate)
    }
}
