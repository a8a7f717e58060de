import Foundation
import StoreKit

/// Where the key lies that a vault is sealed with: a file, or what a desktop offers for secrets.
public protocol VaultKeyStore: Sendable {
    /// The key, 32 bytes; nil when there is none, or none that can be used.
    func key() throws(VaultError) -> [UInt8]?
    /// Keeps a new key in the place of what was there, so that it outlives a crash right after.
    func keep(_ key: [UInt8]) throws(VaultError)
}

/// A key in a file of mode 0600.
///
/// It keeps other users out, and whoever has a copy of the vault alone. The user whose file it is can read it: see
/// `Documentation/PurchaseVault.md` for what that means.
public struct FileVaultKeyStore: VaultKeyStore {
    /// Where the key lies.
    public let file: URL

    /// A key in this file, which need not be there yet; its folder must be.
    public init(file: URL) { self.file = file }

    public func key() throws(VaultError) -> [UInt8]? {
        var status = stat()
        guard stat(file.path, &status) == 0 else {
            guard errno == ENOENT else { throw VaultError(.storage, "cannot read \(file.path): errno \(errno)") }
            return nil
        }
        guard status.st_mode & 0o077 == 0 else {
            throw VaultError(.exposedKey, "\(file.path) may be read by others; make it 0600 (chmod 600)")
        }
        guard let bytes = BoundedFile.read(file, limit: 32), bytes.count == 32 else { return nil }
        return [UInt8](bytes)
    }

    public func keep(_ key: [UInt8]) throws(VaultError) {
        do { try BoundedFile.write(Data(key), to: file) } catch { throw VaultError(storage: error) }
    }
}

extension VaultError {
    /// What a failing file or folder says, in the vault's words.
    init(storage error: any Error) {
        let device = error as? DeviceError
        self.init(device?.code == .inUse ? .inUse : .storage, device?.detail ?? "\(error)")
    }
}
