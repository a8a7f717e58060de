import Foundation
import StoreKit
import StoreWire

/// The configuration of a vault: its files, its app and device, its trusted roots and its grants.
public struct VaultConfiguration: Sendable {
    /// The grant of each product, by product identifier.
    public var grants: [String: VaultGrant]
    /// The bundle identifier of the app. The vault refuses receipts of other apps.
    public var bundleIdentifier: String
    /// `identifierForVendor` of this device, to which its receipts are bound.
    public var deviceIdentifier: UUID
    /// The environment of the store. The vault refuses receipts of other environments: a sandbox purchase unlocks
    /// nothing in production.
    public var environment: StoreEnvironment
    /// DER files of the root certificates that receipts must chain to. At least one is required.
    public var roots: [URL]
    /// DER files of intermediate certificates for the transactions' own receipts, in addition to those in the app
    /// receipt.
    public var intermediates: [URL]
    /// The location of the app receipt.
    public var receiptURL: URL
    /// The vault's folder, created with mode 0700.
    public var folder: URL
    /// The folder of the vault's mark, created with mode 0700. It is separate from the vault's folder, so that a copy
    /// or backup of one does not contain the other.
    public var markFolder: URL
    /// The key store.
    public var keyStore: any VaultKeyStore
    /// Returns the current time, by which subscriptions expire and spends are dated.
    public var now: @Sendable () -> Date

    /// Creates the configuration of an app's vault in the device's folder, with its key in a file.
    ///
    /// - Parameters:
    ///   - storeKit: StoreKit's configuration, usually ``StoreKitConfiguration/current``.
    ///   - grants: The grant of each product, by product identifier.
    ///   - now: Returns the current time.
    /// - Throws: ``VaultError`` `notConfigured` without a bundle identifier, `storage` when the device's folder cannot
    ///   be used.
    public init(
        storeKit: StoreKitConfiguration, grants: [String: VaultGrant], now: @escaping @Sendable () -> Date
    ) throws(VaultError) {
        guard let bundleIdentifier = storeKit.bundleIdentifier, let receiptURL = storeKit.receiptURL,
            let folder = storeKit.appFolder(in: "vaults"), let markFolder = storeKit.appFolder(in: "marks")
        else {
            throw VaultError(.notConfigured, "the vault needs a bundle identifier: set CORNERSTORE_BUNDLE_ID")
        }
        do { deviceIdentifier = try storeKit.vendorIdentifier() } catch { throw VaultError(storage: error) }
        let environment = storeKit.environment
        self.environment = environment
        self.bundleIdentifier = bundleIdentifier
        self.receiptURL = receiptURL
        self.folder = folder.appendingPathComponent(environment.name, isDirectory: true)
        self.markFolder = markFolder.appendingPathComponent(environment.name, isDirectory: true)
        keyStore = FileVaultKeyStore(file: self.markFolder.appendingPathComponent("key"))
        roots = storeKit.roots
        intermediates = []
        self.grants = grants
        self.now = now
    }
}
