import Crypto
import Foundation

/// A request for the status of one certificate (RFC 6960, section 4.1), as Apple's libraries send it: with hashes by
/// SHA-256 and without a nonce.
struct OCSPQuestion: Sendable {
    /// The request in DER.
    let der: [UInt8]

    /// An element of DER.
    private struct Element {
        var tag: UInt8
        /// With the tag and the length.
        var whole: ArraySlice<UInt8>
        var content: ArraySlice<UInt8>
    }

    /// AlgorithmIdentifier of SHA-256.
    private static let sha256: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    ]

    /// Asks about a certificate.
    /// - Parameters:
    ///   - certificate: the certificate in DER.
    ///   - issuer: its issuer's certificate in DER.
    init(about certificate: [UInt8], issuedBy issuer: [UInt8]) throws {
        // The version, the serial number, the signature's algorithm, the issuer, the validity, the subject, the key.
        let (asked, issuing) = (try Self.fields(of: certificate), try Self.fields(of: issuer))
        let key = try Self.elements(issuing[6].content)
        guard asked[1].tag == 0x02, key.count == 2, key[1].tag == 0x03 else {
            throw BenchmarkError("a certificate has no serial number or no key")
        }
        // The first octet of a BIT STRING counts its unused bits.
        let bits = key[1].content.dropFirst()
        let identifier = [
            Self.sha256, try Self.element(0x04, Array(SHA256.hash(data: asked[3].whole))),
            try Self.element(0x04, Array(SHA256.hash(data: bits))), try Self.element(0x02, Array(asked[1].content)),
        ]
        var request = try Self.element(0x30, identifier.flatMap { $0 })
        // The request for one certificate, the list of these, the request's body, and the request.
        for _ in 0..<4 { request = try Self.element(0x30, request) }
        der = request
    }

    /// The fields of a certificate's signed part, at least the first seven.
    private static func fields(of certificate: [UInt8]) throws -> [Element] {
        let parts = try elements(certificate[...]).first.map { try elements($0.content) }
        guard let fields = try parts?.first.map({ try elements($0.content) }), fields.count >= 7 else {
            throw BenchmarkError("a certificate of the store has too few fields")
        }
        return fields
    }

    private static func elements(_ bytes: ArraySlice<UInt8>) throws -> [Element] {
        var rest = bytes
        var found: [Element] = []
        while let tag = rest.first, let first = rest.dropFirst().first {
            var (header, length) = (2, Int(first))
            if first >= 0x80 {
                let count = Int(first & 0x7F)
                header += count
                length = rest.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
            }
            guard length <= rest.count - header else { throw BenchmarkError("a certificate of the store is cut short") }
            let whole = rest.prefix(header + length)
            found.append(Element(tag: tag, whole: whole, content: whole.dropFirst(header)))
            rest = rest.dropFirst(header + length)
        }
        return found
    }

    /// An element of fewer than 128 octets.
    private static func element(_ tag: UInt8, _ content: [UInt8]) throws -> [UInt8] {
        guard content.count < 0x80 else { throw BenchmarkError("a request about a certificate is too long") }
        return [tag, UInt8(content.count)] + content
    }

    /// Whether an answer says that the certificate is good.
    static func isGood(_ answer: some Sequence<UInt8>) -> Bool {
        // The status, and the beginning of the date that follows it.
        let good: [UInt8] = [0x80, 0x00, 0x18, 0x0F]
        return Array(answer).firstRange(of: good) != nil
    }
}
