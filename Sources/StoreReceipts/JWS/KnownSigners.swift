import Crypto
import Glibc

/// The signer of a payload whose chain was verified before: what spares the next payload with the same header everything but one check of a
/// signature.
struct KnownSigner: Sendable {
    /// The header's segment, character for character.
    let segment: [UInt8]
    /// The hash of what is signed, as far as the segment and its dot go.
    let hashed: SHA256
    /// The header, and the certificates in it.
    let header: [UInt8]
    let certificates: [[UInt8]]
    let publicKey: P256.Signing.PublicKey
    let chain: VerifiedChain
}

/// The signers met lately, bounded. Only those whose chains end in the caller's roots get in, so a stranger cannot fill it.
struct KnownSigners {
    private static let capacity = 32
    private var signers: [KnownSigner] = []
    private var oldest = 0

    /// Headers of different signers differ, though late; there are few signers, and this costs less than reading one certificate.
    func find(_ segment: ArraySlice<UInt8>) -> KnownSigner? {
        segment.withUnsafeBytes { sought in
            signers.first { signer in
                signer.segment.withUnsafeBytes { bytes in
                    guard let one = bytes.baseAddress, let other = sought.baseAddress else { return false }
                    return bytes.count == sought.count && memcmp(one, other, bytes.count) == 0
                }
            }
        }
    }

    mutating func insert(_ signer: KnownSigner) {
        if let same = signers.firstIndex(where: { $0.segment == signer.segment }) {
            signers[same] = signer
        } else if signers.count < Self.capacity {
            signers.append(signer)
        } else {
            signers[oldest] = signer
            oldest = (oldest + 1) % Self.capacity
        }
    }
}
