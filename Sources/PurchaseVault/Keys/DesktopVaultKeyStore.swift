import Foundation
import StoreKit

/// A key in the desktop's secret service where there is one when the vault is made, and in a file of mode 0600 elsewhere.
///
/// A key stays where it was put: with a mark beside the file it is known to be with the service, and while that does not
/// answer (another login, over the network) the vault does not open, instead of beginning anew with another key. A key
/// that lies in the file stays there.
public struct DesktopVaultKeyStore: VaultKeyStore {
    private let service: SecretServiceVaultKeyStore
    private let file: FileVaultKeyStore
    private let mark: URL

    /// - Parameters:
    ///   - service: The desktop's, for this vault.
    ///   - file: Where the key lies without a desktop, in the vault's ``VaultConfiguration/markFolder``.
    public init(service: SecretServiceVaultKeyStore, file: URL) {
        self.service = service
        self.file = FileVaultKeyStore(file: file)
        mark = file.appendingPathExtension("in-secret-service")
    }

    private var isWithService: Bool { access(mark.path, F_OK) == 0 }

    public func key() throws(VaultError) -> [UInt8]? {
        guard isWithService else { return try file.key() }
        do {
            return try service.key()
        } catch {
            throw VaultError(error.code, "\(error.detail). The vault's key is there: log in to that desktop first")
        }
    }

    public func keep(_ key: [UInt8]) throws(VaultError) {
        guard isWithService || service.isAvailable else { return try file.keep(key) }
        try service.keep(key)
        // After the key: a mark without a key would be a vault that was put aside.
        do { try BoundedFile.write(Data(), to: mark) } catch { throw VaultError(storage: error) }
    }
}

extension VaultConfiguration {
    /// Keeps the key with the desktop's secret service where there is one when the vault is made, and in a file elsewhere.
    public mutating func preferDesktopSecrets() {
        keyStore = DesktopVaultKeyStore(
            service: SecretServiceVaultKeyStore(for: self), file: markFolder.appendingPathComponent("key"))
    }
}
