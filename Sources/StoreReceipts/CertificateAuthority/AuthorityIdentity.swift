import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// A private key of one of the kinds that the authority uses.
enum AuthorityKey: Sendable {
    case rsa(_RSA.Signing.PrivateKey)
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)

    /// The kinds of keys, for making and reading them.
    enum Kind: Sendable {
        case rsa
        case p256
        case p384
    }

    /// Makes a key with the system's generator. An RSA key takes some 0.1 s.
    static func generate(_ kind: Kind) throws -> AuthorityKey {
        switch kind {
        case .rsa: .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048))
        case .p256: .p256(P256.Signing.PrivateKey())
        case .p384: .p384(P384.Signing.PrivateKey())
        }
    }

    init(pem: String, kind: Kind) throws {
        switch kind {
        case .rsa: self = .rsa(try _RSA.Signing.PrivateKey(pemRepresentation: pem))
        case .p256: self = .p256(try P256.Signing.PrivateKey(pemRepresentation: pem))
        case .p384: self = .p384(try P384.Signing.PrivateKey(pemRepresentation: pem))
        }
    }

    /// The key as PKCS#8 in PEM.
    var pem: String {
        switch self {
        case .rsa(let key): key.pkcs8PEMRepresentation
        case .p256(let key): key.pemRepresentation
        case .p384(let key): key.pemRepresentation
        }
    }

    /// The key in the form in which it issues certificates.
    var certificateKey: Certificate.PrivateKey {
        switch self {
        case .rsa(let key): Certificate.PrivateKey(key)
        case .p256(let key): Certificate.PrivateKey(key)
        case .p384(let key): Certificate.PrivateKey(key)
        }
    }

    var signatureAlgorithm: Certificate.SignatureAlgorithm {
        switch self {
        case .rsa: .sha256WithRSAEncryption
        case .p256: .ecdsaWithSHA256
        case .p384: .ecdsaWithSHA384
        }
    }
}

/// A key with its certificate, in one file so that both are replaced at once.
struct AuthorityIdentity: Sendable {
    let key: AuthorityKey
    let certificate: Certificate
    let der: [UInt8]

    init(key: AuthorityKey, certificate: Certificate) throws {
        self.key = key
        self.certificate = certificate
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        der = serializer.serializedBytes
    }

    /// The text of the file: the key, then the certificate.
    func pem() throws -> String {
        key.pem.trimmingCharacters(in: .newlines) + "\n" + (try certificate.serializeAsPEM().pemString) + "\n"
    }

    /// Reads the text that ``pem()`` writes.
    /// - Throws: `damaged` unless the key is of the expected kind and matches the certificate.
    init(pem: String, kind: AuthorityKey.Kind, file: String) throws(ReceiptAuthorityError) {
        do {
            let documents = try PEMDocument.parseMultiple(pemString: pem)
            guard documents.count == 2, documents[1].discriminator == Certificate.defaultPEMDiscriminator else {
                throw ReceiptAuthorityError(.damaged, "it must hold one key and one certificate")
            }
            key = try AuthorityKey(pem: documents[0].pemString, kind: kind)
            der = documents[1].derBytes
            certificate = try Certificate(derEncoded: der)
        } catch {
            throw ReceiptAuthorityError(.damaged, "\(file) is damaged; restore it from a copy")
        }
        guard certificate.publicKey == key.certificateKey.publicKey else {
            throw ReceiptAuthorityError(.damaged, "\(file) holds a certificate of another key; restore it from a copy")
        }
    }
}
