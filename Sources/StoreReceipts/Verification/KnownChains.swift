import CryptoExtras
import Foundation

/// A chain that was verified before. The next receipt of the same signer needs only one RSA check.
struct KnownChain: Sendable {
    /// The certificates, with exactly the octets of the receipt.
    let certificates: [UInt8]
    /// The signer's issuer (a Name with its tag and length) and serial number (its content), by which the receipt names
    /// its leaf.
    let issuer: [UInt8]
    let serialNumber: [UInt8]
    let publicKey: _RSA.Signing.PublicKey
    let chain: VerifiedChain
}

/// The most recently verified chains, limited in number. Only chains that end in the caller's roots are added, so that
/// a stranger cannot fill the list.
struct KnownChains {
    private static let capacity = 64
    private var chains: [KnownChain] = []
    private var oldest = 0

    func find(
        _ bytes: UnsafeRawBufferPointer, certificates: Range<Int>, issuer: Range<Int>, serialNumber: Range<Int>
    ) -> KnownChain? {
        // Certificates differ within their first hundred octets, so this costs one comparison.
        chains.first {
            bytes.matches(certificates, $0.certificates) && bytes.matches(serialNumber, $0.serialNumber)
                && bytes.matches(issuer, $0.issuer)
        }
    }

    mutating func insert(_ chain: KnownChain) {
        let same = chains.firstIndex {
            $0.certificates == chain.certificates && $0.serialNumber == chain.serialNumber && $0.issuer == chain.issuer
        }
        if let same {
            chains[same] = chain
        } else if chains.count < Self.capacity {
            chains.append(chain)
        } else {
            chains[oldest] = chain
            oldest = (oldest + 1) % Self.capacity
        }
    }
}
