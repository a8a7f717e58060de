import CornerstoreEncoding
import Crypto
import Foundation

/// The SHA-256 of a blob, under which a ``BlobStore`` keeps it.
public struct BlobDigest: Sendable, Hashable, CustomStringConvertible {
    /// The digest as 64 lower-case hexadecimal digits.
    public let hexadecimal: String

    /// Reads 64 lower-case hexadecimal digits. Returns nil for anything else.
    public init?(_ hexadecimal: some StringProtocol) {
        guard hexadecimal.utf8.count == 64,
            hexadecimal.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.hexadecimal = String(hexadecimal)
    }

    /// Creates a digest from the result of the hash function.
    public init(_ digest: SHA256.Digest) { hexadecimal = Hexadecimal.encoded(digest) }

    /// The hexadecimal digits.
    public var description: String { hexadecimal }

    /// The 32 bytes in Base64, as the header `Repr-Digest` carries them (RFC 9530).
    public var base64: String { Base64.encoded(Hexadecimal.decoded(hexadecimal) ?? []) }
}
