/// The identifier of a certificate in OCSP: hashes of its issuer's name and key, and its serial number (CertID in RFC
/// 6960, section 4.1.1).
struct OCSPCertificateID: Hashable, Sendable {
    /// The hash algorithms that the responder knows.
    enum Algorithm: Sendable, CaseIterable {
        case sha1
        case sha256

        var identifier: [UInt8] {
            switch self {
            case .sha1: ObjectIdentifier.sha1
            case .sha256: ObjectIdentifier.sha256
            }
        }

        /// The number of octets of a hash.
        var hashCount: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            }
        }
    }

    /// The octets of the longest serial number: RFC 5280 allows 20, and some authorities put a zero before them.
    private static let longestSerialNumber = 21

    var algorithm: Algorithm
    /// Whether the algorithm's parameters are NULL. Apple's libraries leave them out or not, and some compare the
    /// answer's identifier with the request's octet by octet.
    var hasNull: Bool
    var issuerNameHash: [UInt8]
    var issuerKeyHash: [UInt8]
    /// The content of the INTEGER.
    var serialNumber: [UInt8]

    /// Reads the identifier that follows.
    /// - Throws: `unsupportedAlgorithm` for another hash algorithm; another code if the bytes are not an identifier.
    init(_ cursor: inout BERCursor) throws(ReceiptRejection) {
        var parts = try cursor.inside(try cursor.next(BERTag.sequence, "a certificate's identifier"))
        var hash = try parts.inside(try parts.next(BERTag.sequence, "a hash algorithm"))
        let identifier = try hash.next(BERTag.objectIdentifier, "a hash algorithm's identifier").content
        hasNull = !hash.isAtEnd
        if hasNull, try !hash.next(BERTag.null, "NULL").content.isEmpty {
            throw ReceiptRejection(.malformed, "NULL has content")
        }
        try hash.expectEnd("a hash algorithm")
        let name = try parts.next(BERTag.octetString, "the hash of an issuer's name").content
        let key = try parts.next(BERTag.octetString, "the hash of an issuer's key").content
        let number = try parts.next(BERTag.integer, "a serial number").content
        try parts.expectEnd("a certificate's identifier")
        let bytes = cursor.bytes
        guard let algorithm = Algorithm.allCases.first(where: { bytes.matches(identifier, $0.identifier) }) else {
            throw ReceiptRejection(.unsupportedAlgorithm, "the hash algorithm is neither SHA-1 nor SHA-256")
        }
        guard name.count == algorithm.hashCount, key.count == algorithm.hashCount else {
            throw ReceiptRejection(.malformed, "a hash does not have the length of its algorithm")
        }
        guard (1...Self.longestSerialNumber).contains(number.count) else {
            throw ReceiptRejection(.malformed, "a serial number has \(number.count) octets")
        }
        self.algorithm = algorithm
        (issuerNameHash, issuerKeyHash) = (bytes.octets(name), bytes.octets(key))
        serialNumber = bytes.octets(number)
    }

    /// The identifier in DER.
    var der: [UInt8] {
        let hash = DERWriter.element(BERTag.objectIdentifier, algorithm.identifier) + (hasNull ? [BERTag.null, 0] : [])
        let parts = [
            DERWriter.element(BERTag.sequence, hash), DERWriter.element(BERTag.octetString, issuerNameHash),
            DERWriter.element(BERTag.octetString, issuerKeyHash), DERWriter.element(BERTag.integer, serialNumber),
        ]
        return DERWriter.element(BERTag.sequence, parts.flatMap { $0 })
    }
}
