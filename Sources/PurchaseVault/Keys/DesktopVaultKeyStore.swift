import Foundation
import StoreKit

/// Stores the key in the desktop's secret service if one is available when the vault is created, else in a file of mode
/// 0600.
///
/// The key stays where it was stored first. A marker file beside the key file records that the secret service has the
/// key. While the service does not respond (for example in another login, or over the network), the vault does not
/// open; a new key would make the vault unreadable.
public struct DesktopVaultKeyStore: VaultKeyStore {
    private let service: SecretServiceVaultKeyStore
    private let file: FileVaultKeyStore
    private let mark: URL

    /// Creates a key store.
    ///
    /// - Parameters:
    ///   - service: The desktop's secret service, for this vault.
    ///   - file: The key file for use without a desktop, in the vault's ``VaultConfiguration/markFolder``.
    public init(service: SecretServiceVaultKeyStore, file: URL) {
        self.service = service
        self.file = FileVaultKeyStore(file: file)
        mark = file.appendingPathExtension("in-secret-service")
    }

    private var isWithService: Bool { access(mark.path, F_OK) == 0 }

    /// Reads the key; nil when there is none or it cannot be used.
    ///
    /// - Throws: ``VaultError`` when the service has the key and does not return it, or the key file cannot be read.
    public func key() throws(VaultError) -> [UInt8]? {
        guard isWithService else { return try file.key() }
        do {
            return try service.key()
        } catch {
            throw VaultError(error.code, "\(error.detail). The vault's key is there: log in to that desktop first")
        }
    }

    /// Stores a new key: in the secret service if it is available or has the key already, else in the file.
    ///
    /// - Throws: ``VaultError`` when the key cannot be stored.
    public func keep(_ key: [UInt8]) throws(VaultError) {
        guard isWithService || service.isAvailable else { return try file.keep(key) }
        try service.keep(key)
        // The marker follows the key: with a marker but no key, the vault would be put aside as unreadable.
        do { try BoundedFile.write(Data(), to: mark) } catch { throw VaultError(storage: error) }
    }
}

extension VaultConfiguration {
    /// Stores the key in the desktop's secret service if one is available when the vault is created, else in a file.
    public mutating func preferDesktopSecrets() {
        keyStore = DesktopVaultKeyStore(
            service: SecretServiceVaultKeyStore(for: self), file: markFolder.appendingPathComponent("key"))
    }
}
