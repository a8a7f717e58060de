import Crypto
import Foundation

/// The raw P-256 operations of every signed transaction, with the same library.
struct P256Baseline: Sendable {
    private let publicKey: P256.Signing.PublicKey
    private let digest: SHA256Digest
    private let signature: P256.Signing.ECDSASignature

    init() throws {
        let key = P256.Signing.PrivateKey()
        publicKey = key.publicKey
        digest = SHA256.hash(data: Data("A signed transaction is hashed before it comes here.".utf8))
        signature = try key.signature(for: digest)
    }

    func verify() throws {
        guard publicKey.isValidSignature(signature, for: digest) else {
            throw BenchmarkError("the raw P-256 signature did not verify")
        }
    }
}
