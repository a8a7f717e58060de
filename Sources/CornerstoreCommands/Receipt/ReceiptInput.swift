import CornerstoreEncoding
import Foundation
import StoreReceipts

/// A receipt (binary or in Base64) or a JWS, as read from a file or standard input.
struct ReceiptInput {
    enum Kind: String, Encodable {
        case app
        case transaction
        /// A signed transaction, renewal, notification or app transaction of StoreKit 2 and the server API.
        case jws
    }

    /// The binary receipt, or the text of a JWS.
    var bytes: [UInt8]
    /// The kind of receipt; nil when the bytes are not recognized.
    var kind: Kind?

    /// Reads a receipt.
    /// - Parameter path: the file's path; `-` is standard input.
    /// - Throws: ``CommandError`` when the file is empty, too large or cannot be read.
    static func read(_ path: String) throws -> ReceiptInput {
        // The maximum size in Base64 with a line break after every 64 characters.
        let limit = ReceiptLimits.standard.byteCount / 3 * 4 + ReceiptLimits.standard.byteCount / 24
        let bytes = try BoundedInput.read(path, limit: limit, what: "receipt")
        guard !bytes.isEmpty else { throw CommandError(.failed, "\(path == "-" ? "Standard input" : path) is empty.") }
        return ReceiptInput(bytes)
    }

    init(_ bytes: [UInt8]) {
        if let kind = Self.detect(bytes) {
            (self.bytes, self.kind) = (bytes, kind)
            return
        }
        let text = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        if Self.isJWS(text) {
            (self.bytes, kind) = (text, .jws)
        } else if let decoded = Base64.decoded(text.span), !decoded.isEmpty {
            (self.bytes, kind) = (decoded, Self.detect(decoded))
        } else {
            (self.bytes, kind) = (bytes, nil)
        }
    }

    private static func detect(_ bytes: [UInt8]) -> Kind? {
        switch ReceiptKind.detect(bytes) {
        case .app: .app
        case .transaction: .transaction
        case nil: nil
        }
    }

    /// Returns whether the text has three parts, the first of which is a JSON object in Base64url.
    private static func isJWS(_ text: [UInt8]) -> Bool {
        text.starts(with: Array("eyJ".utf8))
            && text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count == 3
    }
}

/// Reads a certificate in DER or PEM.
enum CertificateInput {
    /// Returns the certificate in DER.
    /// - Throws: ``CommandError`` when the file cannot be read, is too large, or is PEM with invalid Base64.
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
            throw CommandError(.usage, "Invalid Base64 in the PEM file \(path).")
        }
        return der
    }
}
