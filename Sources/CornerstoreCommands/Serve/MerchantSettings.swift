import BlobStorage
import Foundation
import Merchant
import MerchantServer
import StoreServer
import StoreWire

/// What `serve` is asked for of the merchant that runs beside the store.
struct MerchantSettings: Equatable {
    static let usualPort = 8410

    /// 0 takes any free one.
    var port: Int
    /// Files of products, an app each.
    var productsFiles: [URL] = []
    /// How often addresses, users and keys may come; nil for no bound.
    var rates: RateLimits.Rates? = .standard

    /// The merchant of a store that is open. It keeps everything where the other `merchant` commands look for it, knows the store by the
    /// files of its roots, and takes purchases of its sandbox too.
    /// - Parameter apps: the apps of the store's catalog.
    /// - Throws: ``CommandError`` when the store has no roots.
    func configuration(
        beside store: StoreServerConfiguration, apps: Set<BundleID>
    ) throws -> MerchantServerConfiguration {
        var configuration = MerchantServerConfiguration(
            dataDirectory: store.dataDirectory.appendingPathComponent("merchant", isDirectory: true), host: store.host,
            port: port, databaseURL: store.databaseURL, schema: store.schemaPrefix + "_merchant",
            stores: [try .cornerstore(in: store.dataDirectory)], bundleIDs: apps,
            // What is tried out on a machine of one's own is bought in the sandbox.
            policy: MerchantPolicy(environments: [.production, .sandbox], usualEnvironment: .sandbox),
            productsFiles: productsFiles, rates: rates, isBehindProxy: store.isBehindProxy)
        configuration.limits = store.limits
        configuration.portOption = "--merchant-port"
        // In the store's bucket, apart from what the store keeps there.
        configuration.bucket = store.bucket.map { bucket in
            var bucket = bucket
            bucket.prefix += "merchant/"
            return bucket
        }
        return configuration
    }
}
