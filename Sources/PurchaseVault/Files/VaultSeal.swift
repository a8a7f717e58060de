import Crypto
import Foundation

/// Encrypts and authenticates: AES-256-GCM with a nonce of the system's generator, bound to what the file is for.
///
/// The file is 8 bytes (`CVAULT`, 0, version 1) and then nonce, ciphertext and tag.
struct VaultSeal: Sendable {
    /// Which of the two files; one does not open as the other.
    enum Purpose: String, Sendable {
        case vault
        case mark
    }

    private static let header: [UInt8] = Array("CVAULT".utf8) + [0, 1]
    private let key: SymmetricKey
    private let owner: String

    /// `owner` names the app and its environment.
    init(key: [UInt8], owner: String) {
        self.key = SymmetricKey(data: key)
        self.owner = owner
    }

    static func newKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

    func seal(_ plain: Data, as purpose: Purpose) throws -> Data {
        let box = try AES.GCM.seal(plain, using: key, authenticating: context(purpose))
        return Data(Self.header) + box.nonce + box.ciphertext + box.tag
    }

    /// The plain bytes; nil when anything was changed or it was sealed with another key or for another purpose.
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
