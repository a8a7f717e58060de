import CornerstoreEncoding
import Crypto
import Foundation
import Merchant

/// A backend's API key that was found valid.
public struct APIKey: Sendable, Equatable {
    /// The key's name, which the operator chose.
    public let name: String
    /// The actions that the key allows.
    public let scopes: Set<APIScope>

    /// The prefix of every key's text, by which a leaked key is recognized.
    static let prefix = "cmk_"
    /// The number of random bytes in a key.
    static let size = 32
    /// The length of a key's text: the prefix, and 32 bytes in Base64url without padding.
    static let length = prefix.utf8.count + 43

    /// The SHA-256 of the key's bytes; nil for a text that is not a key. Keys are random, so one round is enough.
    static func digest(of text: Substring) -> [UInt8]? {
        guard text.utf8.count == length, text.hasPrefix(prefix),
            let bytes = Base64URL.decoded(Array(text.utf8.dropFirst(prefix.utf8.count))[...]), bytes.count == size
        else { return nil }
        return Array(SHA256.hash(data: bytes))
    }

    /// The text of a new key.
    static func text(of bytes: [UInt8]) -> String { prefix + Base64URL.encoded(bytes) }
}

/// A new key. Its text is available only now.
public struct NewAPIKey: Sendable {
    /// The key's name.
    public let name: String
    /// The actions that the key allows.
    public let scopes: Set<APIScope>
    /// The secret text, to be sent as `Authorization: Bearer`.
    public let text: String
}
