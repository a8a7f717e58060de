import Crypto
import CryptoExtras
import Foundation

/// The raw RSA-2048 operations of every receipt, with the same library.
struct RSABaseline: Sendable {
    let key: _RSA.Signing.PrivateKey
    private let publicKey: _RSA.Signing.PublicKey
    private let digest: SHA256Digest
    private let signature: _RSA.Signing.RSASignature

    init() throws {
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        publicKey = key.publicKey
        digest = SHA256.hash(data: Data("A receipt's payload is hashed before it comes here.".utf8))
        signature = try key.signature(for: digest, padding: .insecurePKCS1v1_5)
        try verify()
    }

    func sign() throws {
        _ = try key.signature(for: digest, padding: .insecurePKCS1v1_5)
    }

    func verify() throws {
        guard publicKey.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5) else {
            throw BenchmarkError("the raw RSA signature did not verify")
        }
    }
}

/// A failure of the measurement, which ends it.
struct BenchmarkError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
