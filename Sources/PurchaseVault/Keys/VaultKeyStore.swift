import Foundation
import StoreKit

/// Stores the encryption key of a vault: in a file, or in the desktop's secret service.
public protocol VaultKeyStore: Sendable {
    /// Reads the key, 32 bytes; nil when there is none or it cannot be used.
    /// - Throws: ``VaultError``.
    func key() throws(VaultError) -> [UInt8]?
    /// Stores a new key in place of the old one. On return the key is durable.
    /// - Throws: ``VaultError``.
    func keep(_ key: [UInt8]) throws(VaultError)
}

/// Stores the key in a file of mode 0600.
///
/// Other users cannot open the vault, and neither can anyone who has a copy of the vault's file only. The file's owner
/// can read the key; `Documentation/PurchaseVault.md` describes the consequences.
public struct FileVaultKeyStore: VaultKeyStore {
    /// The key file.
    public let file: URL

    /// Creates a key store for this file. The file may not exist yet; its folder must exist.
    public init(file: URL) { self.file = file }

    /// Reads the key; nil when the file does not exist or does not have 32 bytes.
    ///
    /// - Throws: ``VaultError`` `exposedKey` when other users can access the file, `storage` when it cannot be read.
    public func key() throws(VaultError) -> [UInt8]? {
        var status = stat()
        guard stat(file.path, &status) == 0 else {
            guard errno == ENOENT else { throw VaultError(.storage, "cannot read \(file.path): errno \(errno)") }
            return nil
        }
        guard status.st_mode & 0o077 == 0 else {
            throw VaultError(.exposedKey, "other users can access \(file.path); set its mode to 0600 (chmod 600)")
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size == 32 else { return nil }
        guard let bytes = BoundedFile.read(file, limit: 32), bytes.count == 32 else {
            throw VaultError(.storage, "cannot read \(file.path); check that this user may read it")
        }
        return [UInt8](bytes)
    }

    /// Writes the key to the file with mode 0600.
    ///
    /// - Throws: ``VaultError`` `storage` when the file cannot be written.
    public func keep(_ key: [UInt8]) throws(VaultError) {
        do { try BoundedFile.write(Data(key), to: file) } catch { throw VaultError(storage: error) }
    }
}

extension VaultError {
    /// Converts an error of a file or folder.
    init(storage error: any Error) {
        let device = error as? DeviceError
        self.init(device?.code == .inUse ? .inUse : .storage, device?.detail ?? "\(error)")
    }
}
