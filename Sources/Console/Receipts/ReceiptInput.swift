import CornerstoreEncoding
import Foundation
import StoreReceipts

/// A receipt (binary or in Base64) or a JWS, as pasted or read from a file.
package struct ReceiptInput {
    package enum Kind: String, Encodable {
        case app
        case transaction
        /// A signed transaction, renewal, notification or app transaction of StoreKit 2 and the server API.
        case jws
    }

    /// The binary receipt, or the text of a JWS.
    package var bytes: [UInt8]
    /// The kind of receipt; nil when the bytes are not recognized.
    package var kind: Kind?

    /// Recognizes bytes, also in Base64.
    package init(_ bytes: [UInt8]) {
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
