import Console
import CornerstoreEncoding
import Foundation
import StoreReceipts

extension ReceiptInput {
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
}

/// Reads a certificate in DER or PEM.
enum CertificateInput {
    /// The file of the intermediate certificate of the store with this data directory; empty without one. Transaction
    /// receipts contain only the leaf certificate.
    static func intermediates(in folder: URL) -> [String] {
        // The second file is that of a store whose authority is in its database.
        let files = ["authority/receipt-intermediate.pem", "roots/receipt-intermediate.der"]
            .map { folder.appendingPathComponent($0).path }
        return Array(files.filter { FileManager.default.isReadableFile(atPath: $0) }.prefix(1))
    }

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
