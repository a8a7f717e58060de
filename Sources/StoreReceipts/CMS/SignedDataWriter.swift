/// Writes the CMS message around a payload as Apple's server does.
///
/// The message is DER: SignedData of version 1; SHA-256 with NULL parameters; the payload as one primitive OCTET
/// STRING; the certificates in the given order; one SignerInfo by issuer and serial number, without signed attributes,
/// with rsaEncryption and NULL (measured on a receipt of 2025).
struct SignedDataWriter: Sendable {
    /// The certificates under their tag, which are the same for every receipt.
    private let certificateSet: [UInt8]
    /// SignerInfo up to the signature, which is the same for every receipt.
    private let signerInfoPrefix: [UInt8]

    /// Creates a writer. The first certificate is the signer's.
    init(certificates: [[UInt8]]) throws(ReceiptRejection) {
        guard let leaf = certificates.first else { throw ReceiptRejection(.malformed, "no certificate was given") }
        certificateSet = DERWriter.element(BERTag.context0, certificates.flatMap { $0 })
        let identity = try leaf.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> [UInt8] in
            let raw = UnsafeRawBufferPointer(buffer)
            let fields = try CertificateFields(raw, 0..<raw.count)
            let serialNumber = DERWriter.element(BERTag.integer, Array(raw[fields.serialNumber]))
            return DERWriter.element(BERTag.sequence, Array(raw[fields.issuer]) + serialNumber)
        }
        signerInfoPrefix = Self.one + identity + Self.sha256 + Self.rsaEncryption
    }

    /// The whole message.
    func message(payload: [UInt8], signature: [UInt8]) -> [UInt8] {
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
