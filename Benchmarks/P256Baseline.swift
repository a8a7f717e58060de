import Crypto
import Foundation

/// The raw P-256 operations of every signed transaction, with the same library.
struct P256Baseline: Sendable {
    private let key: P256.Signing.PrivateKey
    private let publicKey: P256.Signing.PublicKey
    private let digest: SHA256Digest
    private let signature: P256.Signing.ECDSASignature

    init() throws {
        key = P256.Signing.PrivateKey()
        publicKey = key.publicKey
        digest = SHA256.hash(data: Data("A signed transaction is hashed before it comes here.".utf8))
        signature = try key.signature(for: digest)
    }

    func verify() throws {
        guard publicKey.isValidSignature(signature, for: digest) else {
            throw BenchmarkError("the raw P-256 signature did not verify")
        }
    }

    func sign() throws { _ = try key.signature(for: digest) }
}

/// Raw P-256 operations a second, on one core.
struct P256Rates: Sendable {
    var verify: Double
    var sign: Double

    /// Measures both, each for about this number of seconds.
    static func measured(seconds: Double) throws -> P256Rates {
        let baseline = try P256Baseline()
        return P256Rates(
            verify: try Rate.perSecond(seconds: seconds, rounds: 1, work: baseline.verify),
            sign: try Rate.perSecond(seconds: seconds, rounds: 1, work: baseline.sign))
    }

    /// The rate of one check and a number of signatures in sequence.
    func rate(signatures: Int) -> Double { 1 / (1 / verify + Double(signatures) / sign) }
}
