import Foundation
import StoreReceipts

/// A receipt as it was handed over: binary or in Base64.
struct ReceiptInput {
    /// Binary.
    var bytes: [UInt8]
    /// Nil for what begins like no receipt.
    var kind: ReceiptKind?

    /// - Parameter path: `-` is standard input.
    /// - Throws: ``CommandError`` when it cannot be read, is too large, or is a signed transaction, which has no receipt in it.
    static func read(_ path: String) throws -> ReceiptInput {
        // In Base64 with a line break every 64 letters.
        let limit = ReceiptLimits.standard.byteCount / 3 * 4 + ReceiptLimits.standard.byteCount / 24
        let bytes = try BoundedInput.read(path, limit: limit, what: "receipt")
        guard !bytes.isEmpty else { throw CommandError(.failed, "\(path == "-" ? "Standard input" : path) is empty.") }
        return try ReceiptInput(bytes)
    }

    init(_ bytes: [UInt8]) throws {
        if let kind = ReceiptKind.detect(bytes) {
            (self.bytes, self.kind) = (bytes, kind)
            return
        }
        let text = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !Self.isJWS(text) else {
            throw CommandError(
                .failed, "This is a signed transaction (JWS); only app and transaction receipts are read.")
        }
        if let decoded = Base64.decoded(text.span), !decoded.isEmpty {
            (self.bytes, kind) = (decoded, ReceiptKind.detect(decoded))
        } else {
            (self.bytes, kind) = (bytes, nil)
        }
    }

    /// Three parts of base64url, the first a JSON object.
    private static func isJWS(_ text: [UInt8]) -> Bool {
        text.starts(with: Array("eyJ".utf8))
            && text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 3
    }
}

/// A certificate as it was handed over: DER or PEM.
enum CertificateInput {
    /// - Throws: ``CommandError`` when it cannot be read or is too large.
    static func read(_ path: String) throws -> [UInt8] {
        let bytes = try BoundedInput.read(path, limit: 64 << 10, what: "certificate")
        let begin = "-----BEGIN CERTIFICATE-----"
        let text = String(decoding: bytes, as: UTF8.self)
        guard let start = text.range(of: begin),
            let end = text.range(of: "-----END", range: start.upperBound..<text.endIndex)
        else {
            return bytes
        }
        let body = text[start.upperBound..<end.lowerBound].filter { !$0.isWhitespace }
        guard let der = Base64.decoded(String(body)) else {
            throw CommandError(.usage, "\(path) is PEM, but not in Base64.")
        }
        return der
    }
}
