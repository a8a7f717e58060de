import BlobStorage
import Foundation
import Merchant
import MerchantServer
import StoreServer
import StoreWire

/// The settings of the merchant that `serve` runs beside the store.
struct MerchantSettings: Equatable {
    static let usualPort = 8410

    /// The port; 0 selects a free port.
    var port: Int
    /// The files of products, one for each app.
    var productsFiles: [URL] = []
    /// The rate limits of addresses, users, API keys and guesses; nil for no limits.
    var rates: RateLimits.Rates? = .standard
    /// The receiver of webhooks; nil for none.
    var webhooks: WebhookReceiver?
    /// How the merchant answers the store's questions about consumption; nil when it does not.
    var consumption: ConsumptionPolicy?
    /// Whether the merchant sets the account token of a purchase without one to the user who redeems it.
    var setsAccountTokens = false

    /// Returns the configuration of the merchant beside an open store.
    ///
    /// The merchant's data is where the other `merchant` commands look for it. The merchant trusts the roots in the
    /// store's data directory and accepts sandbox purchases.
    /// - Parameter apps: the apps of the store's catalog.
    /// - Throws: ``CommandError`` when the store has no roots.
    func configuration(
        beside store: StoreServerConfiguration, apps: Set<BundleID>
    ) throws -> MerchantServerConfiguration {
        var configuration = MerchantServerConfiguration(
            dataDirectory: store.dataDirectory.appendingPathComponent("merchant", isDirectory: true), host: store.host,
            port: port, databaseURL: store.databaseURL, schema: store.schemaPrefix + "_merchant",
            stores: [try .cornerstore(in: store.dataDirectory)], bundleIDs: apps,
            // Purchases on a developer's machine are sandbox purchases.
            policy: MerchantPolicy(
                environments: [.production, .sandbox], sendsWebhooks: webhooks != nil, usualEnvironment: .sandbox),
            productsFiles: productsFiles, rates: rates, isBehindProxy: store.isBehindProxy)
        configuration.policy.consumption = consumption
        configuration.policy.setsAccountTokens = setsAccountTokens
        configuration.webhooks = webhooks
        configuration.limits = store.limits
        configuration.mayLackApps = store.catalogFiles.isEmpty
        configuration.portOption = "--merchant-port"
        // The merchant uses the store's bucket with a prefix of its own.
        configuration.bucket = store.bucket.map { bucket in
            var bucket = bucket
            bucket.prefix += "merchant/"
            return bucket
        }
        return configuration
    }
}
