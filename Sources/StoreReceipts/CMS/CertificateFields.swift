import CryptoExtras

/// The fields of an X.509 certificate that identify a receipt's signer, read in place. They suffice to check a
/// signature before any chain is built.
struct CertificateFields {
    /// The shortest RSA key of a signer in bits, which is also the shortest that swift-certificates reads.
    static let usualKeySize = 2_048
    /// The shortest RSA key of a transaction receipt's signer, in bits.
    static let shortestTransactionKey = 1_024

    /// The content of the serial number.
    var serialNumber: Range<Int>
    /// The issuer's Name, with its tag and length.
    var issuer: Range<Int>
    var subject: Range<Int>
    var publicKeyInfo: Range<Int>
    /// The part that the issuer signed: the body with its tag and length.
    var body: Range<Int>
    /// The body's content.
    var bodyContent: Range<Int>
    /// The signature algorithm beside the signature, with its tag and length. The body repeats it.
    var signatureAlgorithm: Range<Int>
    var bodySignatureAlgorithm: Range<Int>
    /// The octets of the signature.
    var signature: Range<Int>

    /// Reads the certificate at `range`.
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(ReceiptRejection) {
        var top = BERCursor(bytes: bytes, range: range, depth: 4)
        var outer = try top.inside(try top.next(BERTag.sequence, "a certificate"))
        let signed = try outer.next(BERTag.sequence, "a certificate's body")
        (self.body, bodyContent) = (signed.whole, signed.content)
        var body = try outer.inside(signed)
        if body.upcomingTag == BERTag.context0 { _ = try body.next() }
        serialNumber = try body.next(BERTag.integer, "a serial number").content
        bodySignatureAlgorithm = try body.next(BERTag.sequence, "a signature algorithm").whole
        issuer = try body.next(BERTag.sequence, "an issuer").whole
        _ = try body.next(BERTag.sequence, "a validity")
        subject = try body.next(BERTag.sequence, "a subject").whole
        publicKeyInfo = try body.next(BERTag.sequence, "a public key").whole
        signatureAlgorithm = try outer.next(BERTag.sequence, "a certificate's signature algorithm").whole
        let bits = try outer.next(BERTag.bitString, "a certificate's signature").content
        try outer.expectEnd("a certificate")
        // A reader ignores unused bits, so that one certificate would have several encodings.
        guard !bits.isEmpty, bytes[bits.lowerBound] == 0 else {
            throw ReceiptRejection(.malformed, "a certificate's signature is not whole octets")
        }
        signature = bits.lowerBound + 1..<bits.upperBound
    }

    /// The RSA key.
    ///
    /// - Throws: `unsupportedAlgorithm` for other kinds of keys, and for keys below `minimumBits` or above 4096 bits,
    ///   which cost too much to check.
    func publicKey(_ bytes: UnsafeRawBufferPointer, minimumBits: Int) throws(ReceiptRejection) -> _RSA.Signing.PublicKey
    {
        guard publicKeyInfo.count <= 600,
            let key = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: Array(bytes[publicKeyInfo])),
            (minimumBits...4_096).contains(key.keySizeInBits)
        else {
            throw ReceiptRejection(.unsupportedAlgorithm, "the signer's key is not RSA of \(minimumBits) to 4096 bits")
        }
        return key
    }
}
