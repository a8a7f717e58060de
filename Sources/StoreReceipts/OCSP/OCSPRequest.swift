/// A request for the status of certificates (RFC 6960, section 4.1). The requestor's name and signature are ignored.
struct OCSPRequest: Sendable {
    /// The largest request, in bytes.
    static let largest = 8 << 10
    /// The most certificates that a request may ask about.
    static let mostCertificates = 8
    /// The octets of the longest nonce (RFC 8954).
    static let longestNonce = 32

    /// The certificates, at least one.
    let certificates: [OCSPCertificateID]
    /// The value that the answer repeats; nil for an answer that may have been made before.
    let nonce: [UInt8]?

    /// Reads a request.
    /// - Throws: `unsupportedAlgorithm` for a hash that is neither SHA-1 nor SHA-256; another code for anything that is
    ///   not a request of version 1, exceeds a limit, or has a critical extension other than the nonce.
    init(_ request: [UInt8]) throws(ReceiptRejection) {
        guard request.count <= Self.largest else {
            throw ReceiptRejection(.tooLarge, "the request has \(request.count) bytes, more than \(Self.largest)")
        }
        (certificates, nonce) = try request.withUnsafeBufferPointer {
            (buffer) throws(ReceiptRejection) -> ([OCSPCertificateID], [UInt8]?) in
            try Self.contents(UnsafeRawBufferPointer(buffer))
        }
    }

    private static func contents(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ReceiptRejection) -> ([OCSPCertificateID], [UInt8]?) {
        var top = BERCursor(bytes)
        var whole = try top.inside(try top.next(BERTag.sequence, "a request"))
        try top.expectEnd("the input")
        var body = try whole.inside(try whole.next(BERTag.sequence, "a request's body"))
        if whole.upcomingTag == BERTag.context0 { _ = try whole.next() }
        try whole.expectEnd("a request")

        if body.upcomingTag == BERTag.context0 {
            var version = try body.inside(try body.next())
            guard try version.integer("a version") == 0 else {
                throw ReceiptRejection(.malformed, "the version is not 1")
            }
            try version.expectEnd("a version")
        }
        if body.upcomingTag == BERTag.context1 { _ = try body.next() }
        var list = try body.inside(try body.next(BERTag.sequence, "the list of certificates"))
        let nonce = try Self.nonce(inExtensionsOf: &body, under: BERTag.context2)
        try body.expectEnd("a request's body")

        var certificates: [OCSPCertificateID] = []
        while !list.isAtEnd {
            guard certificates.count < mostCertificates else {
                throw ReceiptRejection(.tooLarge, "the request asks about more than \(mostCertificates) certificates")
            }
            var single = try list.inside(try list.next(BERTag.sequence, "a request for one certificate"))
            certificates.append(try OCSPCertificateID(&single))
            _ = try Self.nonce(inExtensionsOf: &single, under: BERTag.context0)
            try single.expectEnd("a request for one certificate")
        }
        guard !certificates.isEmpty else { throw ReceiptRejection(.malformed, "the request names no certificate") }
        return (certificates, nonce)
    }

    /// Reads the extensions that may follow under an explicit tag. Returns the nonce among them.
    private static func nonce(
        inExtensionsOf cursor: inout BERCursor, under tag: UInt8
    ) throws(ReceiptRejection) -> [UInt8]? {
        guard cursor.upcomingTag == tag else { return nil }
        var explicit = try cursor.inside(try cursor.next())
        var list = try explicit.inside(try explicit.next(BERTag.sequence, "extensions"))
        try explicit.expectEnd("extensions")
        var nonce: [UInt8]?
        while !list.isAtEnd {
            var parts = try list.inside(try list.next(BERTag.sequence, "an extension"))
            let type = try parts.next(BERTag.objectIdentifier, "an extension's type").content
            var isCritical = false
            if parts.upcomingTag == BERTag.boolean {
                let flag = try parts.next().content
                guard flag.count == 1 else { throw ReceiptRejection(.malformed, "a BOOLEAN has no value") }
                isCritical = parts.bytes[flag.lowerBound] != 0
            }
            let value = try parts.next(BERTag.octetString, "an extension's value")
            try parts.expectEnd("an extension")
            if parts.matches(type, ObjectIdentifier.ocspNonce) {
                var inner = try parts.inside(value)
                let octets = try inner.next(BERTag.octetString, "a nonce").content
                try inner.expectEnd("a nonce")
                guard nonce == nil, (1...longestNonce).contains(octets.count) else {
                    throw ReceiptRejection(.malformed, "the nonce is repeated or not of 1 to \(longestNonce) octets")
                }
                nonce = parts.bytes.octets(octets)
            } else if isCritical {
                throw ReceiptRejection(.malformed, "a critical extension is not understood")
            }
        }
        return nonce
    }
}
