import Crypto
import Foundation
import Merchant

/// A backend's key, as far as it was shown to be good.
public struct APIKey: Sendable, Equatable {
    public let name: String
    public let scopes: Set<APIScope>

    /// What every key's text begins with, so that one is known where it should not be.
    static let prefix = "cmk_"
    /// Random bytes in a key.
    static let size = 32
    /// Characters of a key's text: the prefix, and 32 bytes in Base64 without padding.
    static let length = prefix.utf8.count + 43

    /// SHA-256 of the key's bytes; nil for a text that is no key. The keys are random, so that one round is enough.
    static func digest(of text: Substring) -> [UInt8]? {
        guard text.utf8.count == length, text.hasPrefix(prefix),
            let bytes = Base64URLText.decoded(text.utf8.dropFirst(prefix.utf8.count)), bytes.count == size
        else { return nil }
        return Array(SHA256.hash(data: bytes))
    }

    /// The text of a new key.
    static func text(of bytes: [UInt8]) -> String { prefix + Base64URLText.encoded(bytes) }
}

/// A key that was just made: the only time that its text is there to be shown.
public struct NewAPIKey: Sendable {
    public let name: String
    public let scopes: Set<APIScope>
    /// The secret, to be given as `Authorization: Bearer`.
    public let text: String
}
