import Crypto
import CryptoExtras
import Foundation

/// Signs app receipts with one leaf of the ``CertificateAuthority``, element for element as Apple's server does.
///
/// DER; SignedData of version 1; SHA-256 with NULL parameters; the payload as one primitive OCTET STRING; leaf, intermediate and root, in this
/// order; one SignerInfo by issuer and serial number, without signed attributes, with rsaEncryption and NULL (measured on receipts of 2025).
public struct ReceiptSigner: Sendable {
    private let key: _RSA.Signing.PrivateKey
    /// Leaf, intermediate and root in DER.
    public let certificates: [[UInt8]]
    /// The certificates under their tag, the same for every receipt.
    private let certificateSet: [UInt8]
    /// SignerInfo up to the signature, likewise.
    private let signerInfoPrefix: [UInt8]

    /// The leaf that signs, in DER.
    public var leafCertificate: [UInt8] { certificates[0] }

    /// `certificates` begins with the leaf; throws `mismatchedKey` where the key is not the leaf's.
    init(key: _RSA.Signing.PrivateKey, certificates: [[UInt8]]) throws(ReceiptAuthorityError) {
        guard let leaf = certificates.first else { throw ReceiptAuthorityError(.mismatchedKey, "no certificate was given") }
        self.key = key
        self.certificates = certificates
        certificateSet = DERWriter.element(BERTag.context0, certificates.flatMap { $0 })
        let identity: [UInt8]
        do {
            identity = try leaf.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> [UInt8] in
                let raw = UnsafeRawBufferPointer(buffer)
                let fields = try CertificateFields(raw, 0..<raw.count)
                let publicKey = try fields.publicKey(raw, minimumBits: 2_048)
                guard publicKey.derRepresentation == key.publicKey.derRepresentation else {
                    throw ReceiptRejection(.badSignature, "the certificate is another key's")
                }
                let serialNumber = DERWriter.element(BERTag.integer, Array(raw[fields.serialNumber]))
                return DERWriter.element(BERTag.sequence, Array(raw[fields.issuer]) + serialNumber)
            }
        } catch {
            throw ReceiptAuthorityError(.mismatchedKey, "the leaf certificate does not fit the key: \(error.detail)")
        }
        signerInfoPrefix = Self.one + identity + Self.sha256 + Self.rsaEncryption
    }

    /// Signs a receipt. Purchases and other attributes come back from a parser in the order of their encodings, as DER sorts them.
    ///
    /// Throws `unencodable` for a receipt that cannot be written and `signing` where the key fails.
    public func sign(_ receipt: AppReceipt) throws(ReceiptAuthorityError) -> SignedReceipt {
        let payload = try receipt.encodedPayload()
        let signature = try signature(SHA256.hash(data: payload))
        return SignedReceipt(bytes: envelope(payload: payload, signature: signature))
    }

    /// The RSA PKCS#1 v1.5 signature over SHA-1 of `bytes`, for the iOS 6 transaction receipt, which never had another.
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

    private func envelope(payload: [UInt8], signature: Data) -> [UInt8] {
        func withHeader(_ count: Int) -> Int { DERWriter.headerCount(length: count) + count }
        let signerInfo = signerInfoPrefix.count + withHeader(signature.count)
        let signers = withHeader(signerInfo)
        let explicitPayload = withHeader(payload.count)
        let encapsulated = Self.dataType.count + withHeader(explicitPayload)
        let body = Self.versionAndDigests.count + withHeader(encapsulated) + certificateSet.count + withHeader(signers)
        let explicitBody = withHeader(body)
        let contentInfo = Self.signedDataType.count + withHeader(explicitBody)

        var bytes: [UInt8] = []
        bytes.reserveCapacity(withHeader(contentInfo))
        DERWriter.appendHeader(BERTag.sequence, length: contentInfo, to: &bytes)
        bytes.append(contentsOf: Self.signedDataType)
        DERWriter.appendHeader(BERTag.context0, length: explicitBody, to: &bytes)
        DERWriter.appendHeader(BERTag.sequence, length: body, to: &bytes)
        bytes.append(contentsOf: Self.versionAndDigests)
        DERWriter.appendHeader(BERTag.sequence, length: encapsulated, to: &bytes)
        bytes.append(contentsOf: Self.dataType)
        DERWriter.appendHeader(BERTag.context0, length: explicitPayload, to: &bytes)
        DERWriter.appendHeader(BERTag.octetString, length: payload.count, to: &bytes)
        bytes.append(contentsOf: payload)
        bytes.append(contentsOf: certificateSet)
        DERWriter.appendHeader(BERTag.set, length: signers, to: &bytes)
        DERWriter.appendHeader(BERTag.sequence, length: signerInfo, to: &bytes)
        bytes.append(contentsOf: signerInfoPrefix)
        DERWriter.appendHeader(BERTag.octetString, length: signature.count, to: &bytes)
        bytes.append(contentsOf: signature)
        return bytes
    }

    private static let one: [UInt8] = [BERTag.integer, 1, 1]
    private static let sha256 = algorithm(ObjectIdentifier.sha256)
    private static let rsaEncryption = algorithm(ObjectIdentifier.rsaEncryption)
    private static let versionAndDigests = one + DERWriter.element(BERTag.set, sha256)
    private static let signedDataType = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.signedData)
    private static let dataType = DERWriter.element(BERTag.objectIdentifier, ObjectIdentifier.data)

    private static func algorithm(_ identifier: [UInt8]) -> [UInt8] {
        DERWriter.element(BERTag.sequence, DERWriter.element(BERTag.objectIdentifier, identifier) + [BERTag.null, 0])
    }
}
