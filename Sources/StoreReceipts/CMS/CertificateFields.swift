import CryptoExtras

/// The parts of an X.509 certificate that tell who signed a receipt, read in place: enough to check a signature before
/// any chain is built.
struct CertificateFields {
    /// The content of the serial number.
    var serialNumber: Range<Int>
    /// Whole Names.
    var issuer: Range<Int>
    var subject: Range<Int>
    var publicKeyInfo: Range<Int>

    /// Reads the certificate that stands at `range`.
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(ReceiptRejection) {
        var top = BERCursor(bytes: bytes, range: range, depth: 4)
        var outer = try top.inside(try top.next(BERTag.sequence, "a certificate"))
        var body = try outer.inside(try outer.next(BERTag.sequence, "a certificate's body"))
        if body.upcomingTag == BERTag.context0 { _ = try body.next() }
        serialNumber = try body.next(BERTag.integer, "a serial number").content
        _ = try body.next(BERTag.sequence, "a signature algorithm")
        issuer = try body.next(BERTag.sequence, "an issuer").whole
        _ = try body.next(BERTag.sequence, "a validity")
        subject = try body.next(BERTag.sequence, "a subject").whole
        publicKeyInfo = try body.next(BERTag.sequence, "a public key").whole
        _ = try outer.next(BERTag.sequence, "a certificate's signature algorithm")
        let signature = try outer.next(BERTag.bitString, "a certificate's signature").content
        try outer.expectEnd("a certificate")
        // Unused bits would be ignored further on, so that one certificate had several encodings.
        guard !signature.isEmpty, bytes[signature.lowerBound] == 0 else {
            throw ReceiptRejection(.malformed, "a certificate's signature is not whole octets")
        }
    }

    /// The RSA key. Keys of other kinds, below `minimumBits` or above 4096 bits (which cost too much to check) are
    /// `unsupportedAlgorithm`.
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
