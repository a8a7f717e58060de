import Foundation
import StoreKit
import StoreWire

/// Where a vault lies, whose it is, and what it believes.
public struct VaultConfiguration: Sendable {
    /// What each product gives, by its identifier.
    public var grants: [String: VaultGrant]
    /// The app whose receipts count.
    public var bundleIdentifier: String
    /// `identifierForVendor` of this device, to which its receipts are bound.
    public var deviceIdentifier: UUID
    /// The store whose receipts count: what was bought in a sandbox unlocks nothing in production.
    public var environment: StoreEnvironment
    /// DER files of the root certificates that receipts must chain to. Without any, no vault opens.
    public var roots: [URL]
    /// DER files of intermediates that the transactions' own receipts need, beside those in the app's receipt.
    public var intermediates: [URL]
    /// Where the app's receipt lies.
    public var receiptURL: URL
    /// The vault's folder; made with mode 0700.
    public var folder: URL
    /// The folder of the vault's mark, apart from the vault: what is restored or copied with the one should not bring
    /// the other. Made with mode 0700.
    public var markFolder: URL
    /// Where the key lies.
    public var keyStore: any VaultKeyStore
    /// The time: subscriptions run out by it, and spends are dated with it.
    public var now: @Sendable () -> Date

    /// The vault of an app on this device as StoreKit is configured, in the device's folder, with its key in a file.
    ///
    /// - Parameters:
    ///   - storeKit: What StoreKit uses: ``StoreKitConfiguration/current`` unless the program has it at hand.
    ///   - grants: What each product gives, by its identifier.
    ///   - now: The time.
    /// - Throws: ``VaultError`` `notConfigured` without a bundle identifier, `storage` when the device's folder cannot be
    ///   used.
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
