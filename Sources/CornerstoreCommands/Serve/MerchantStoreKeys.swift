import Foundation
import Logging
import MerchantServer
import Store
import StoreServer
import StoreWire

/// Gives the merchant beside a store the keys of the store's API: one for each app, made when it is first needed and
/// kept in the merchant's data directory, mode 0600. The processes of a store with a key share it instead, sealed in
/// the store's database.
actor MerchantStoreKeys {
    /// The folder of the keys in the merchant's data directory.
    static let folderName = "store-keys"

    /// A key as a sealed secret, in JSON.
    private struct Kept: Codable {
        var keyID: String
        var issuerID: String
        var pem: String
    }

    /// The most attempts to keep a key while other processes keep one, too.
    private static let mostAttempts = 8

    private let store: StoreApplication
    private let secrets: StoreSecrets
    private let folder: URL
    private let addresses: Addresses
    private let logger: Logger
    /// The keys, each made once.
    private var keys: [BundleID: Task<StoreAPIKey, any Error>] = [:]

    /// - Parameters:
    ///   - secrets: the secrets of the store, which hold the keys if it has a key.
    ///   - merchant: the merchant's data directory.
    ///   - addresses: the addresses on which the store answers.
    init(
        _ store: StoreApplication, secrets: StoreSecrets = .plain, merchant: URL, addresses: Addresses, logger: Logger
    ) {
        self.store = store
        self.secrets = secrets
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
            task = Task { [store, secrets, folder] in
                guard secrets.isSealing else { return try await Self.key(of: app, store, folder) }
                return try await Self.sharedKey(of: app, store, secrets)
            }
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
        guard FileManager.default.isWritableFile(atPath: folder.path) else {
            throw StoreError(.unavailable, "\(folder.path) cannot be written.")
        }
        let made = try await store.apiKeys.make(for: app, at: milliseconds)
        do { try StoreAPIKeysFile.create(file(made.key.keyID, folder), pem: made.privateKey) } catch {
            await revokeLost(made.key.keyID, store)
            throw error
        }
        return try StoreAPIKey(
            bundleID: app, keyID: made.key.keyID, issuerID: made.key.issuerID, pem: made.privateKey)
    }

    /// Reads an app's key from the store's secrets, or makes one and keeps it there. A key that the operator has
    /// revoked is replaced.
    private static func sharedKey(
        of app: BundleID, _ store: StoreApplication, _ secrets: StoreSecrets
    ) async throws -> StoreAPIKey {
        let place = "merchant-key/\(app.rawValue)"
        for _ in 0..<mostAttempts {
            let found = try await secrets.load(place)
            if let found, let kept = try? JSONDecoder().decode(Kept.self, from: Data(found.octets)),
                store.apiKeys[kept.keyID]?.revokedAt == nil
            {
                return try StoreAPIKey(bundleID: app, keyID: kept.keyID, issuerID: kept.issuerID, pem: kept.pem)
            }
            let made = try await store.apiKeys.make(for: app, at: milliseconds)
            let kept = Kept(keyID: made.key.keyID, issuerID: made.key.issuerID, pem: made.privateKey)
            let octets = Array(try JSONEncoder().encode(kept))
            let isKept: Bool
            do {
                isKept =
                    if let found {
                        try await secrets.replace(place, octets, ifRevision: found.revision)
                    } else {
                        try await secrets.create(place, octets)
                    }
            } catch {
                await revokeLost(made.key.keyID, store)
                throw error
            }
            if isKept {
                return try StoreAPIKey(bundleID: app, keyID: kept.keyID, issuerID: kept.issuerID, pem: kept.pem)
            }
            // Another process was first. Its key is the one to use.
            _ = try await store.apiKeys.revoke(kept.keyID, at: milliseconds)
        }
        throw StoreError(.unavailable, "Other processes keep replacing the merchant's key.")
    }

    /// Revokes a key that could not be kept. Nobody has its private half, and the store's number of keys is limited.
    private static func revokeLost(_ keyID: String, _ store: StoreApplication) async {
        _ = try? await store.apiKeys.revoke(keyID, at: milliseconds)
    }

    private static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// The file of a key, named as Apple names it.
    private static func file(_ keyID: String, _ folder: URL) -> URL {
        folder.appendingPathComponent("SubscriptionKey_\(keyID).p8")
    }
}
