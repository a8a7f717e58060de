import Crypto
import Foundation

/// The key that seals the secrets of a store in its PostgreSQL database. All processes of the store have the same.
///
/// It has 256 bits and is written as Base64. Its text never appears in a description.
public struct StoreKey: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private static let length = 32
    private static let largestFile = 1_024

    let key: SymmetricKey

    /// Makes a new key with the system's generator.
    public init() { key = SymmetricKey(size: .bits256) }

    /// Reads a key in Base64. White space around it is ignored.
    /// - Throws: ``StoreSecretsError`` `store_key_unusable` unless it has 32 octets.
    public init(base64 text: String) throws {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.utf8.count <= Self.largestFile, let octets = Data(base64Encoded: text), octets.count == Self.length
        else {
            throw StoreSecretsError(
                .keyUnusable,
                "The store key must be \(Self.length) octets in Base64. Make one with “cornerstore authority key”.")
        }
        key = SymmetricKey(data: octets)
    }

    /// Reads a key from a file.
    /// - Throws: ``StoreSecretsError`` `store_key_unusable` if others than the owner can read the file, or it holds no
    ///   key.
    public static func read(file: URL) throws -> StoreKey {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        guard let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue else {
            throw StoreSecretsError(.keyUnusable, "The store key cannot be read: there is no file \(file.path).")
        }
        guard mode & 0o077 == 0 else {
            throw StoreSecretsError(
                .keyUnusable,
                "Others can read the store key \(file.path). Set its mode to 0600, or replace the key if it leaked.")
        }
        guard let size = (attributes?[.size] as? NSNumber)?.intValue, size <= largestFile,
            let data = FileManager.default.contents(atPath: file.path), data.count <= largestFile
        else {
            throw StoreSecretsError(
                .keyUnusable, "The store key \(file.path) cannot be read, or does not contain a key.")
        }
        return try StoreKey(base64: String(decoding: data, as: UTF8.self))
    }

    /// The key in Base64. Secret.
    public var base64: String { Data(key.withUnsafeBytes { Array($0) }).base64EncodedString() }

    /// A text without the key.
    public var description: String { "StoreKey" }

    /// A reflection without the key.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
