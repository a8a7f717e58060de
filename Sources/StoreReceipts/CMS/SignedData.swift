/// A CMS SignedData (RFC 5652) as ranges of the receipt's bytes: the signed content, the signer and the signature.
///
/// It accepts less than CMS allows: one signer, identified by issuer and serial number, with RSA over SHA-1 or SHA-256;
/// one to eight certificates; no revocation lists and no unsigned attributes. Apple's server and Xcode write no signed
/// attributes; receipts from other writers that have them are also read.
struct SignedData {
    static let maximumCertificates = 8
    private static let maximumSignature = 1_024

    var content: Octets
    /// The content of the certificates' `[0]`, by which a verified chain is remembered.
    var certificates: Range<Int>
    /// Each certificate, with its tag and length.
    var certificateElements: [Range<Int>]
    /// The Name of the signer's issuer, with its tag and length.
    var issuer: Range<Int>
    /// The content of the signer's serial number.
    var serialNumber: Range<Int>
    var digest: SignatureDigest
    /// The `[0]` of the signed attributes, with its tag and length.
    var signedAttributes: Range<Int>?
    var signature: Range<Int>

    /// Reads the envelope.
    /// - Throws: `malformed`, `truncated`, `trailingData`, `tooDeep`, `tooLarge` or `unsupportedAlgorithm`.
    init(_ bytes: UnsafeRawBufferPointer) throws(ReceiptRejection) {
        var top = BERCursor(bytes)
        let outer = try top.next(BERTag.sequence, "ContentInfo")
        guard top.isAtEnd else {
            throw ReceiptRejection(.trailingData, "\(bytes.count - outer.end) bytes follow the receipt's end")
        }
        var contentInfo = try top.inside(outer)
        let type = try contentInfo.next(BERTag.objectIdentifier, "a content type")
        guard contentInfo.matches(type.content, ObjectIdentifier.signedData) else {
            throw ReceiptRejection(.malformed, "the content type is not signedData")
        }
        var explicit = try contentInfo.inside(try contentInfo.next(BERTag.context0, "the signed data"))
        try contentInfo.expectEnd("ContentInfo")
        var body = try explicit.inside(try explicit.next(BERTag.sequence, "SignedData"))
        try explicit.expectEnd("the signed data")

        guard try body.integer("the version") == 1 else {
            throw ReceiptRejection(.malformed, "the version of SignedData is not 1")
        }
        var digests = try body.inside(try body.next(BERTag.set, "the digest algorithms"))
        let announced = try digests.digestAlgorithm()
        try digests.expectEnd("the digest algorithms")
        content = try body.encapsulatedData()
        let list = try body.next(BERTag.context0, "the certificates")
        certificates = list.content
        certificateElements = try body.inside(list).certificates()
        var signers = try body.inside(try body.next(BERTag.set, "the signers"))
        try body.expectEnd("SignedData")
        var signer = try signers.inside(try signers.next(BERTag.sequence, "SignerInfo"))
        try signers.expectEnd("the signers")

        guard try signer.integer("the signer's version") == 1 else {
            throw ReceiptRejection(.malformed, "the version of SignerInfo is not 1")
        }
        var identity = try signer.inside(try signer.next(BERTag.sequence, "the signer's issuer and serial number"))
        issuer = try identity.next(BERTag.sequence, "the signer's issuer").whole
        serialNumber = try identity.next(BERTag.integer, "the signer's serial number").content
        try identity.expectEnd("the signer's issuer and serial number")
        digest = try signer.digestAlgorithm()
        guard digest == announced else {
            throw ReceiptRejection(.malformed, "the signer's digest is not the one that SignedData announces")
        }
        signedAttributes = nil
        if signer.upcomingTag == BERTag.context0 { signedAttributes = try signer.next().whole }
        try signer.signatureAlgorithm(for: digest)
        signature = try signer.next(BERTag.octetString, "the signature").content
        guard signature.count <= Self.maximumSignature else {
            throw ReceiptRejection(.tooLarge, "the signature has \(signature.count) bytes")
        }
        try signer.expectEnd("SignerInfo")
    }
}

/// The two digest algorithms of receipt signatures.
enum SignatureDigest: Sendable, Equatable {
    /// Apple's algorithm until 2023.
    case sha1
    case sha256
}

extension BERCursor {
    /// Reads `SEQUENCE { OBJECT IDENTIFIER, NULL OPTIONAL }` and returns the range of the identifier.
    private mutating func algorithm(_ what: StaticString) throws(ReceiptRejection) -> Range<Int> {
        var parts = try inside(try next(BERTag.sequence, what))
        let identifier = try parts.next(BERTag.objectIdentifier, what)
        if !parts.isAtEnd {
            let parameters = try parts.next(BERTag.null, "NULL parameters")
            guard parameters.content.isEmpty else { throw ReceiptRejection(.malformed, "a NULL is not empty") }
        }
        try parts.expectEnd(what)
        return identifier.content
    }

    fileprivate mutating func digestAlgorithm() throws(ReceiptRejection) -> SignatureDigest {
        let identifier = try algorithm("a digest algorithm")
        if matches(identifier, ObjectIdentifier.sha256) { return .sha256 }
        if matches(identifier, ObjectIdentifier.sha1) { return .sha1 }
        throw ReceiptRejection(.unsupportedAlgorithm, "the digest is neither SHA-1 nor SHA-256")
    }

    fileprivate mutating func signatureAlgorithm(for digest: SignatureDigest) throws(ReceiptRejection) {
        let identifier = try algorithm("a signature algorithm")
        let combined =
            switch digest {
            case .sha1: ObjectIdentifier.sha1WithRSAEncryption
            case .sha256: ObjectIdentifier.sha256WithRSAEncryption
            }
        guard matches(identifier, ObjectIdentifier.rsaEncryption) || matches(identifier, combined) else {
            throw ReceiptRejection(.unsupportedAlgorithm, "the signature is not RSA over the announced digest")
        }
    }

    fileprivate mutating func encapsulatedData() throws(ReceiptRejection) -> Octets {
        var parts = try inside(try next(BERTag.sequence, "the encapsulated content"))
        let type = try parts.next(BERTag.objectIdentifier, "the encapsulated content's type")
        guard matches(type.content, ObjectIdentifier.data) else {
            throw ReceiptRejection(.malformed, "the encapsulated content is not plain data")
        }
        var explicit = try parts.inside(try parts.next(BERTag.context0, "the payload"))
        try parts.expectEnd("the encapsulated content")
        let octets = try explicit.octets("the payload")
        try explicit.expectEnd("the payload")
        return octets
    }

    fileprivate consuming func certificates() throws(ReceiptRejection) -> [Range<Int>] {
        var cursor = self
        var elements: [Range<Int>] = []
        elements.reserveCapacity(3)
        while !cursor.isAtEnd {
            guard elements.count < SignedData.maximumCertificates else {
                throw ReceiptRejection(.tooLarge, "more than \(SignedData.maximumCertificates) certificates")
            }
            elements.append(try cursor.next(BERTag.sequence, "a certificate").whole)
        }
        guard !elements.isEmpty else { throw ReceiptRejection(.malformed, "the receipt holds no certificate") }
        return elements
    }
}
