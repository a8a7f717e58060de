import Crypto
import Glibc

/// The signer of a payload whose chain was verified before. The next payload with the same header needs only one
/// signature check.
struct KnownSigner: Sendable {
    /// The header's segment of the message, with exactly the same characters.
    let segment: [UInt8]
    /// The hash state after the segment and its dot, the first part of the signed text.
    let hashed: SHA256
    /// The decoded header and its certificates.
    let header: [UInt8]
    let certificates: [[UInt8]]
    let publicKey: P256.Signing.PublicKey
    let chain: VerifiedChain
}

/// The most recent signers, limited in number. Only signers whose chains end in the caller's roots are added, so that a
/// stranger cannot fill the list.
struct KnownSigners {
    private static let capacity = 32
    private var signers: [KnownSigner] = []
    private var oldest = 0

    /// Headers of different signers differ only near their ends. There are few signers, and comparing them all costs
    /// less than reading one certificate.
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
