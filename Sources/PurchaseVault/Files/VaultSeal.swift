import Crypto
import Foundation

/// Encrypts and authenticates the vault's files with AES-256-GCM and a random nonce. The purpose of the file, the app
/// and the environment are authenticated.
///
/// A file has a header of 8 bytes (`CVAULT`, 0, version 1), followed by nonce, ciphertext and tag.
struct VaultSeal: Sendable {
    /// The purpose of a file. A file does not open under the other purpose.
    enum Purpose: String, Sendable {
        case vault
        case mark
    }

    private static let header: [UInt8] = Array("CVAULT".utf8) + [0, 1]
    private let key: SymmetricKey
    private let owner: String

    /// Creates a seal. `owner` identifies the app and its environment.
    init(key: [UInt8], owner: String) {
        self.key = SymmetricKey(data: key)
        self.owner = owner
    }

    static func newKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

    func seal(_ plain: Data, as purpose: Purpose) throws -> Data {
        let box = try AES.GCM.seal(plain, using: key, authenticating: context(purpose))
        return Data(Self.header) + box.nonce + box.ciphertext + box.tag
    }

    /// The decrypted bytes; nil when a byte was changed, or the file has another key, owner or purpose.
    func open(_ sealed: Data, as purpose: Purpose) -> Data? {
        guard sealed.starts(with: Self.header),
            let box = try? AES.GCM.SealedBox(combined: Data(sealed.dropFirst(Self.header.count)))
        else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: context(purpose))
    }

    private func context(_ purpose: Purpose) -> Data {
        Data(Self.header) + Data("\(purpose.rawValue)\n\(owner)".utf8)
    }
}
