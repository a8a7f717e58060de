import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Testing
import X509

@testable import StoreReceipts

/// Chains that are not as they should be, each in one respect.
struct TestChain {
    var leafMarker = true
    var intermediateMarker = true
    var leafUsage = KeyUsage(digitalSignature: true)
    var intermediateUsage = KeyUsage(keyCertSign: true, cRLSign: true)
    var intermediateIsAuthority = true
    var leafIsAuthority = false
    var leafValidity = CertificateAuthority.validity
    var intermediateValidity = CertificateAuthority.validity
    var rootValidity = CertificateAuthority.validity
    var leafAlgorithm = Certificate.SignatureAlgorithm.sha256WithRSAEncryption
    var intermediateAlgorithm = Certificate.SignatureAlgorithm.sha256WithRSAEncryption
    /// Signs the leaf with another key than the intermediate's.
    var forgedLeaf = false
    var leafCommonName = "Leaf"
    var rootMarker = "Root"
    /// Which of ``keys`` is the root's. An impostor has another.
    var rootKey = 0
    /// Which of ``keys`` signs the root's certificate, and in which name; nil for a root that signs itself.
    var rootIssuer: (key: Int, name: String)?
    var rootPathLength: Int?
    /// Makes the signer of a transaction receipt of version 2: RSA with 1024 bits and the marker of those.
    var isVersion2 = false
    /// Gives the leaf a critical extension that nobody knows.
    var leafHasCriticalExtension = false

    /// Making RSA keys takes long; these are made once.
    static let keys: [_RSA.Signing.PrivateKey] = (0..<4).compactMap { _ in
        try? _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    static let shortKey = try? _RSA.Signing.PrivateKey(unsafeKeySize: _RSA.Signing.KeySize(bitCount: 1_024))

    struct Made {
        let leaf: [UInt8]
        let intermediate: [UInt8]
        let root: [UInt8]
        let leafKey: _RSA.Signing.PrivateKey

        func signer() throws -> ReceiptSigner {
            try ReceiptSigner(key: leafKey, certificates: [leaf, intermediate, root])
        }
    }

    func make() throws -> Made {
        let keys = Self.keys.map { Certificate.PrivateKey($0) }
        let leafKey = isVersion2 ? try #require(Self.shortKey) : Self.keys[2]
        let rootName = try DistinguishedName { CommonName("Cornerstore TEST \(rootMarker)") }
        let rootIssuerName = try DistinguishedName { CommonName("Cornerstore TEST \(rootIssuer?.name ?? rootMarker)") }
        let intermediateName = try DistinguishedName { CommonName("Cornerstore TEST Intermediate") }
        let leafName = try DistinguishedName { CommonName("Cornerstore TEST \(leafCommonName)") }
        let root = try certificate(
            keys[rootKey], rootName, rootIssuerName, keys[rootIssuer?.key ?? rootKey], rootValidity,
            [
                .basicConstraints(.isCertificateAuthority(maxPathLength: rootPathLength)),
                .keyUsage(KeyUsage(keyCertSign: true)),
            ]
        )
        let intermediate = try certificate(
            keys[1], intermediateName, rootName, keys[rootKey], intermediateValidity,
            [
                .basicConstraints(
                    intermediateIsAuthority ? .isCertificateAuthority(maxPathLength: 0) : .notCertificateAuthority),
                .keyUsage(intermediateUsage),
            ] + (intermediateMarker && !isVersion2 ? [.marker(CertificateMarker.developerRelations)] : []),
            algorithm: intermediateAlgorithm
        )
        let marker = isVersion2 ? CertificateMarker.purchaseReceipt : CertificateMarker.receiptSigning
        let leaf = try certificate(
            Certificate.PrivateKey(leafKey), leafName, intermediateName, forgedLeaf ? keys[3] : keys[1], leafValidity,
            [
                .basicConstraints(
                    leafIsAuthority ? .isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority),
                .keyUsage(leafUsage),
            ] + (leafMarker ? [.marker(marker)] : [])
                + (leafHasCriticalExtension ? [.critical([1, 2, 840, 113635, 100, 99])] : []),
            algorithm: leafAlgorithm
        )
        return Made(leaf: leaf, intermediate: intermediate, root: root, leafKey: leafKey)
    }

    private enum Part {
        case basicConstraints(BasicConstraints)
        case keyUsage(KeyUsage)
        case marker(ASN1ObjectIdentifier)
        case critical(ASN1ObjectIdentifier)
    }

    private func certificate(
        _ key: Certificate.PrivateKey, _ subject: DistinguishedName, _ issuer: DistinguishedName,
        _ issuerKey: Certificate.PrivateKey, _ validity: ClosedRange<Date>, _ parts: [Part],
        algorithm: Certificate.SignatureAlgorithm = .sha256WithRSAEncryption
    ) throws -> [UInt8] {
        var extensions = Certificate.Extensions()
        for part in parts {
            switch part {
            case .basicConstraints(let value): try extensions.append(Certificate.Extension(value, critical: true))
            case .keyUsage(let value): try extensions.append(Certificate.Extension(value, critical: true))
            case .marker(let value):
                try extensions.append(Certificate.Extension(oid: value, critical: false, value: [5, 0]))
            case .critical(let value):
                try extensions.append(Certificate.Extension(oid: value, critical: true, value: [5, 0]))
            }
        }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
            notValidBefore: validity.lowerBound,
            notValidAfter: validity.upperBound, issuer: issuer, subject: subject, signatureAlgorithm: algorithm,
            extensions: extensions, issuerPrivateKey: issuerKey
        )
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }
}

/// A directory that is gone when the test is over.
struct TemporaryDirectory: ~Copyable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("cornerstore-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}

extension ReceiptVerification {
    /// The code of a refusal; nil for a verified receipt.
    var refusal: ReceiptRejection.Code? {
        switch self {
        case .verified: nil
        case .rejected(let rejection): rejection.code
        }
    }

    var receipt: AppReceipt? {
        switch self {
        case .verified(let verified): verified.receipt
        case .rejected: nil
        }
    }
}
