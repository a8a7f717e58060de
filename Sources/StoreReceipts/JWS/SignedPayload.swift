import CornerstoreEncoding
import Foundation

/// A transaction, renewal, app transaction or notification as Apple has signed them since 2021: a JWS (RFC 7515) in
/// compact form with ES256 and the certificates in `x5c`. It was read but not verified: do not trust its contents.
public struct SignedPayload: Sendable, Equatable {
    /// The protected header in JSON.
    public let header: [UInt8]
    /// The payload in JSON.
    public let payload: [UInt8]
    /// The certificates of `x5c`: leaf, intermediate and root in DER. Xcode gives only one.
    public let certificates: [[UInt8]]
    /// The signature: r and s, 32 octets each.
    public let signature: [UInt8]
    /// When the payload was signed: `signedDate`, or `receiptCreationDate` of an app transaction. Certificates are
    /// judged at this date.
    public let signedDate: Date
    /// The value of `bundleId`, which is beside the other fields, or under `data` in notifications.
    public let bundleID: String?
    /// The value of `environment` in the same places, or `receiptType` of an app transaction: `Production`, `Sandbox`,
    /// `Xcode` or `LocalTesting`.
    public let environment: String?
    /// The signed text: the segments of the header and the payload, with the dot between them.
    let signingInput: ArraySlice<UInt8>
    /// The payload's members.
    package let fields: FlatJSONObject

    /// The largest payload that is read, in bytes. It is larger than any that Apple signs.
    public static let maximumByteCount = 1 << 20

    /// Reads a JWS, ignoring white space around it.
    ///
    /// - Throws: ``ReceiptRejection`` with `malformed`, `tooLarge` or `unsupportedAlgorithm` (anything but ES256).
    public static func parse(_ text: [UInt8]) throws(ReceiptRejection) -> SignedPayload {
        try parse(text) { _ in nil }
    }

    /// Reads a JWS.
    /// - Parameter known: finds the known signer of a header's segment; nil for a new one.
    static func parse(
        _ text: [UInt8], known: (ArraySlice<UInt8>) -> KnownSigner?
    ) throws(ReceiptRejection) -> SignedPayload {
        guard text.count <= maximumByteCount else {
            throw ReceiptRejection(
                .tooLarge, "the signed payload has \(text.count) bytes, more than \(maximumByteCount)")
        }
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        let start = text.firstIndex { !isSpace($0) } ?? text.endIndex
        let end = (text.lastIndex { !isSpace($0) } ?? start - 1) + 1
        guard let first = dot(in: text[start..<end]), let second = dot(in: text[(first + 1)..<end]) else {
            throw notThreeParts
        }
        let signer = known(text[start..<first])
        // A third dot makes the signature's Base64 invalid.
        guard let header = signer?.header ?? Base64URL.decoded(text[start..<first]),
            let payload = Base64URL.decoded(text[(first + 1)..<second]),
            let signature = Base64URL.decoded(text[(second + 1)..<end])
        else { throw notThreeParts }
        let certificates: [[UInt8]]
        if let signer {
            certificates = signer.certificates
        } else {
            certificates = try Self.certificates(inHeader: header)
        }
        guard signature.count == 64 else { throw ReceiptRejection(.malformed, "the signature does not have 64 octets") }
        let fields: FlatJSONObject
        let claims: Claims
        do throws(FlatJSONScanner.Failure) {
            fields = try FlatJSONObject(payload)
            claims = try Claims(fields)
        } catch {
            throw ReceiptRejection(
                .malformed, "the payload is not a JSON object, or its fields are of other types: \(error.sentence)")
        }
        guard let milliseconds = claims.signedDate, abs(milliseconds) < 1e15 else {
            throw ReceiptRejection(.malformed, "the payload has no signedDate")
        }
        return SignedPayload(
            header: header, payload: payload, certificates: certificates, signature: signature,
            signedDate: Date(timeIntervalSince1970: milliseconds / 1_000),
            bundleID: claims.bundleID, environment: claims.environment, signingInput: text[start..<second],
            fields: fields
        )
    }

    /// The index of the first full stop; nil for none. A header with certificates has thousands of characters, which
    /// `memchr` searches many times as fast as a loop.
    private static func dot(in text: ArraySlice<UInt8>) -> Int? {
        text.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let dot = memchr(start, Int32(UInt8(ascii: ".")), bytes.count) else {
                return nil
            }
            return text.startIndex + (UnsafeRawPointer(dot) - start)
        }
    }

    private static var notThreeParts: ReceiptRejection {
        ReceiptRejection(.malformed, "a signed payload is three parts of base64url with dots between them")
    }

    private static func certificates(inHeader header: [UInt8]) throws(ReceiptRejection) -> [[UInt8]] {
        guard let fields = try? JSONDecoder().decode(Header.self, from: Data(header)) else {
            throw ReceiptRejection(.malformed, "the header is not JSON with alg and x5c")
        }
        guard fields.alg == "ES256" else { throw ReceiptRejection(.unsupportedAlgorithm, "the algorithm is not ES256") }
        // A reader must understand every critical header (RFC 7515 §4.1.11), and Apple has none.
        guard fields.crit == nil else { throw ReceiptRejection(.malformed, "the header has a critical part") }
        return try certificates(fields.x5c)
    }

    private static func certificates(_ x5c: [String]) throws(ReceiptRejection) -> [[UInt8]] {
        guard (1...SignedData.maximumCertificates).contains(x5c.count) else {
            throw ReceiptRejection(x5c.isEmpty ? .malformed : .tooLarge, "x5c has \(x5c.count) certificates")
        }
        var certificates: [[UInt8]] = []
        for text in x5c {
            guard let der = Base64.decoded(text), !der.isEmpty else {
                throw ReceiptRejection(.malformed, "x5c is not Base64")
            }
            certificates.append(der)
        }
        return certificates
    }

    private struct Header: Decodable {
        var alg: String
        var x5c: [String]
        var crit: [String]?
    }

    private struct Claims {
        var signedDate: Double?
        var bundleID: String?
        var environment: String?

        init(_ fields: FlatJSONObject) throws(FlatJSONScanner.Failure) {
            let data = try fields.object("data")
            signedDate = try fields.number("signedDate")
            if signedDate == nil { signedDate = try fields.number("receiptCreationDate") }
            bundleID = try fields.string("bundleId")
            if bundleID == nil { bundleID = try data?.string("bundleId") }
            environment = try fields.string("environment")
            if environment == nil { environment = try data?.string("environment") }
            if environment == nil { environment = try fields.string("receiptType") }
        }
    }
}
