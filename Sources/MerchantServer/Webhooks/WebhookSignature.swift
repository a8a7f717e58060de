import Crypto
import Foundation

/// A secret that signs webhooks: 24 to 64 bytes, written as `whsec_` and Base64 (standardwebhooks.com, "Standard
/// Webhooks 1.0.0").
public struct WebhookSecret: Sendable, Equatable, CustomStringConvertible {
    static let prefix = "whsec_"

    fileprivate let key: SymmetricKey

    /// Reads a secret.
    /// - Throws: ``MerchantServerError`` `invalidConfiguration` for a text that is not a secret.
    public init(_ text: String) throws {
        guard text.hasPrefix(Self.prefix), let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            (24...64).contains(bytes.count)
        else {
            throw MerchantServerError(
                .invalidConfiguration, "A webhook's secret must be whsec_ followed by 24 to 64 random bytes in Base64.")
        }
        key = SymmetricKey(data: bytes)
    }

    /// Makes the text of a new secret.
    public static func make() -> String { prefix + Data(RandomBytes.make(32)).base64EncodedString() }

    /// A text that does not reveal the secret.
    public var description: String { "whsec_…" }
}

/// The signature of a webhook: HMAC-SHA256 over its id, the time of sending and its body, in the header
/// `webhook-signature`. While a secret is being replaced, the header has a signature for each secret, and the receiver
/// accepts either.
public enum WebhookSignature {
    static let idHeader = "webhook-id"
    static let timeHeader = "webhook-timestamp"
    static let signatureHeader = "webhook-signature"

    /// The three headers of a signed webhook.
    /// - Parameters:
    ///   - seconds: the time of sending, in seconds since 1970.
    ///   - secrets: all secrets that receivers may know now.
    static func headers(id: String, seconds: Int64, body: [UInt8], secrets: [WebhookSecret]) -> [(String, String)] {
        let signatures = secrets.map { "v1," + Data(code(id, String(seconds), body, $0)).base64EncodedString() }
        return [
            (idHeader, id), (timeHeader, String(seconds)), (signatureHeader, signatures.joined(separator: " ")),
        ]
    }

    /// Whether a received webhook is genuine and recent. This is the receiver's part.
    /// - Parameters:
    ///   - id: `webhook-id`
    ///   - timestamp: `webhook-timestamp`
    ///   - signature: `webhook-signature`
    ///   - tolerance: the largest difference between `timestamp` and `now`, in seconds.
    public static func isValid(
        id: String, timestamp: String, signature: String, body: [UInt8], secrets: [WebhookSecret], at now: Date,
        tolerance: TimeInterval = 300
    ) -> Bool {
        guard let seconds = Int64(timestamp), abs(Double(seconds) - now.timeIntervalSince1970) <= tolerance else {
            return false
        }
        let signed = message(id, timestamp, body)
        return signature.split(separator: " ").prefix(16).contains { part in
            guard part.hasPrefix("v1,"), let code = Data(base64Encoded: String(part.dropFirst(3))) else { return false }
            return secrets.contains {
                HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: $0.key)
            }
        }
    }

    private static func code(
        _ id: String, _ timestamp: String, _ body: [UInt8], _ secret: WebhookSecret
    ) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: message(id, timestamp, body), using: secret.key)
    }

    private static func message(_ id: String, _ timestamp: String, _ body: [UInt8]) -> [UInt8] {
        Array("\(id).\(timestamp).".utf8) + body
    }
}
