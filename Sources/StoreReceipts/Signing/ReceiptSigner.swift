import Crypto
import CryptoExtras
import Foundation

/// Signs app receipts with one leaf of the ``CertificateAuthority``, with the same elements as Apple's server.
///
/// ``sign(_:)`` returns a DER message that contains the leaf, the intermediate and the root.
public struct ReceiptSigner: Sendable {
    private let key: _RSA.Signing.PrivateKey
    /// The leaf, the intermediate and the root in DER.
    public let certificates: [[UInt8]]
    private let envelope: SignedDataWriter

    /// The leaf that signs, in DER.
    public var leafCertificate: [UInt8] { certificates[0] }

    /// Creates a signer. The first certificate is the leaf.
    /// - Throws: `mismatchedKey` if the key is not the leaf's.
    init(key: _RSA.Signing.PrivateKey, certificates: [[UInt8]]) throws(ReceiptAuthorityError) {
        guard let leaf = certificates.first else {
            throw ReceiptAuthorityError(.mismatchedKey, "no certificate was given")
        }
        self.key = key
        self.certificates = certificates
        do throws(ReceiptRejection) {
            envelope = try SignedDataWriter(certificates: certificates)
            let publicKey = try leaf.withUnsafeBufferPointer {
                (buffer) throws(ReceiptRejection) -> _RSA.Signing.PublicKey in
                let raw = UnsafeRawBufferPointer(buffer)
                return try CertificateFields(raw, 0..<raw.count).publicKey(
                    raw, minimumBits: CertificateFields.usualKeySize)
            }
            guard publicKey.derRepresentation == key.publicKey.derRepresentation else {
                throw ReceiptRejection(.badSignature, "it contains another public key")
            }
        } catch {
            throw ReceiptAuthorityError(.mismatchedKey, "the leaf certificate does not fit the key: \(error.detail)")
        }
    }

    /// Signs a receipt. A parser returns the purchases and other attributes in the order of their encodings, because
    /// DER sorts them.
    ///
    /// - Throws: `unencodable` for a receipt that cannot be encoded, and `signing` if the key fails.
    public func sign(_ receipt: AppReceipt) throws(ReceiptAuthorityError) -> SignedReceipt {
        let payload = try receipt.encodedPayload()
        let signature = try signature(SHA256.hash(data: payload))
        return SignedReceipt(bytes: envelope.message(payload: payload, signature: Array(signature)))
    }

    /// The RSA PKCS#1 v1.5 signature over SHA-1 of `bytes`, for the iOS 6 transaction receipt, which never used another
    /// digest.
    /// - Throws: ``ReceiptAuthorityError`` `signing`.
    public func signature(overSHA1Of bytes: [UInt8]) throws(ReceiptAuthorityError) -> [UInt8] {
        Array(try signature(Insecure.SHA1.hash(data: bytes)))
    }

    private func signature(_ digest: some Digest) throws(ReceiptAuthorityError) -> Data {
        do {
            return try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation
        } catch {
            throw ReceiptAuthorityError(.signing, "the receipt's key could not sign: \(error)")
        }
    }
}
