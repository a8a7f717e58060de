import Crypto
import Foundation

/// Seals secrets with a store's key: AES-256 in Galois/Counter Mode, with a random nonce.
///
/// A sealed secret names its store and its place as authenticated data. One that is moved to another place, or into
/// another store, does not open.
struct SecretBox: Sendable {
    /// The first octet of a sealed secret: the version of its format. The nonce (12 octets), the sealed text and the
    /// tag (16) follow.
    private static let version: UInt8 = 1
    /// The beginning of a sealed text, before its Base64.
    static let textPrefix = "sealed:"

    private let key: SymmetricKey
    /// The identifier of the store.
    let store: UUID

    init(_ key: StoreKey, store: UUID) {
        self.key = key.key
        self.store = store
    }

    /// Seals octets for a place.
    func seal(_ secret: [UInt8], as name: String) throws -> [UInt8] {
        let box = try AES.GCM.seal(secret, using: key, authenticating: context(name))
        return [Self.version] + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Opens octets that were sealed for a place.
    /// - Throws: ``StoreSecretsError`` `secret_damaged`.
    func open(_ sealed: [UInt8], as name: String) throws -> [UInt8] {
        guard sealed.first == Self.version, let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst()),
            let secret = try? AES.GCM.open(box, using: key, authenticating: context(name))
        else { throw StoreSecretsError.damaged(name) }
        return Array(secret)
    }

    /// Seals a text for a place, as a text.
    func seal(_ secret: String, as name: String) throws -> String {
        Self.textPrefix + Data(try seal(Array(secret.utf8), as: name)).base64EncodedString()
    }

    /// Opens a text that was sealed for a place.
    /// - Throws: ``StoreSecretsError`` `secret_damaged`, also for a text that is not sealed.
    func open(_ sealed: String, as name: String) throws -> String {
        guard sealed.hasPrefix(Self.textPrefix),
            let octets = Data(base64Encoded: String(sealed.dropFirst(Self.textPrefix.count))),
            let secret = String(validating: try open(Array(octets), as: name), as: UTF8.self)
        else { throw StoreSecretsError.damaged(name) }
        return secret
    }

    private func context(_ name: String) -> [UInt8] {
        Array("cornerstore secret 1\n\(store.uuidString.lowercased())\n\(name)".utf8)
    }
}
