import Foundation
import Logging
import MerchantServer
import Store
import StoreServer
import StoreWire

/// Gives the merchant beside a store the keys of the store's API: one for each app, made when it is first needed and
/// kept in the merchant's data directory, mode 0600.
actor MerchantStoreKeys {
    /// The folder of the keys in the merchant's data directory.
    static let folderName = "store-keys"

    private let store: StoreApplication
    private let folder: URL
    private let addresses: Addresses
    private let logger: Logger
    /// The keys, each made once.
    private var keys: [BundleID: Task<StoreAPIKey, any Error>] = [:]

    /// - Parameters:
    ///   - merchant: the merchant's data directory.
    ///   - addresses: the addresses on which the store answers.
    init(_ store: StoreApplication, merchant: URL, addresses: Addresses, logger: Logger) {
        self.store = store
        folder = merchant.appendingPathComponent(Self.folderName, isDirectory: true)
        self.addresses = addresses
        self.logger = logger
    }

    /// Returns the access to the API for an app; nil for an app that the store does not have, or when no key can be
    /// made.
    func access(_ app: BundleID) async -> StoreAPIAccess? {
        guard store.catalog.value.apps.contains(where: { $0.bundleID == app }) else { return nil }
        let task: Task<StoreAPIKey, any Error>
        if let known = keys[app] {
            task = known
        } else {
            task = Task { [store, folder] in try await Self.key(of: app, store, folder) }
            keys[app] = task
        }
        do {
            return StoreAPIAccess(
                try await task.value, inThisProcess: addresses.production, sandbox: addresses.sandbox)
        } catch {
            keys[app] = nil
            logger.error(
                "the merchant has no key of the store's API",
                metadata: ["app": .string(app.rawValue), "error": .string(String(describing: error))])
            return nil
        }
    }

    /// Reads an app's key of an earlier start, or makes one. A key that the operator has revoked is replaced.
    private static func key(of app: BundleID, _ store: StoreApplication, _ folder: URL) async throws -> StoreAPIKey {
        for known in store.apiKeys.all where known.bundleID == app && known.revokedAt == nil {
            let file = file(known.keyID, folder)
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            return try StoreAPIKey(
                bundleID: app, keyID: known.keyID, issuerID: known.issuerID, pem: try StoreAPIKeysFile.pem(file))
        }
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let made = try await store.apiKeys.make(for: app, at: Int64(Date().timeIntervalSince1970 * 1_000))
        try StoreAPIKeysFile.create(file(made.key.keyID, folder), pem: made.privateKey)
        return try StoreAPIKey(
            bundleID: app, keyID: made.key.keyID, issuerID: made.key.issuerID, pem: made.privateKey)
    }

    /// The file of a key, named as Apple names it.
    private static func file(_ keyID: String, _ folder: URL) -> URL {
        folder.appendingPathComponent("SubscriptionKey_\(keyID).p8")
    }
}
