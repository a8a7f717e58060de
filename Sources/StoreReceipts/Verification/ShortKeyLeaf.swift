import X509

/// A leaf whose RSA key is shorter than the 2048 bits that swift-certificates requires. Apple signed transaction
/// receipts of version 2 with keys of 1024 bits.
///
/// The signature is checked over the leaf's own octets. For everything else the certificate is read with its issuer's
/// key in place of its own, so that the same rules apply to every leaf.
struct ShortKeyLeaf {
    private let der: [UInt8]
    private let fields: CertificateFields

    /// Reads the certificate.
    /// - Throws: `malformed` or `truncated` for bytes that are not a certificate.
    init(_ der: [UInt8]) throws(ReceiptRejection) {
        self.der = der
        fields = try der.withUnsafeBufferPointer { (buffer) throws(ReceiptRejection) -> CertificateFields in
            let raw = UnsafeRawBufferPointer(buffer)
            return try CertificateFields(raw, 0..<raw.count)
        }
        // The parts outside the signed body must have only one encoding.
        guard der == DERWriter.element(BERTag.sequence, Array(der[fields.body.lowerBound...])) else {
            throw ReceiptRejection(.malformed, "the leaf certificate is not DER")
        }
        guard der[fields.signatureAlgorithm] == der[fields.bodySignatureAlgorithm] else {
            throw ReceiptRejection(.malformed, "the leaf certificate names two signature algorithms")
        }
    }

    /// The issuer's Name, with its tag and length.
    var issuer: [UInt8] { Array(der[fields.issuer]) }

    /// The leaf with the issuer's key in place of its own; nil if the issuer did not sign it.
    /// - Throws: `malformed` for a certificate that cannot be read.
    func certificate(issuedBy issuer: TrustAnchors.Anchor) throws(ReceiptRejection) -> Certificate? {
        let body =
            Array(der[fields.bodyContent.lowerBound..<fields.publicKeyInfo.lowerBound]) + issuer.publicKeyInfo
            + Array(der[fields.publicKeyInfo.upperBound..<fields.bodyContent.upperBound])
        let content = DERWriter.element(BERTag.sequence, body) + Array(der[fields.body.upperBound...])
        let certificate: Certificate
        do {
            certificate = try Certificate(derEncoded: DERWriter.element(BERTag.sequence, content))
        } catch {
            throw ReceiptRejection(.malformed, "the leaf certificate cannot be read")
        }
        let isSigned = issuer.certificate.publicKey.isValidSignature(
            der[fields.signature], for: der[fields.body], signatureAlgorithm: certificate.signatureAlgorithm)
        return isSigned ? certificate : nil
    }
}
