import BlobStorage
import Foundation
import HTTPSupport
import Merchant
import StoreWire

/// The configuration of a merchant's server.
public struct MerchantServerConfiguration: Sendable {
    /// A store that verifies receipts, for a merchant that does not verify them itself.
    public struct RemoteStore: Sendable {
        /// The store's `verifyReceipt` hosts.
        public var hosts: StoreHosts
        /// The app's shared secret at the store.
        public var sharedSecret: String?
        /// The trust anchor under which the merchant records the store's purchases.
        public var anchor: String

        /// Creates a remote store.
        public init(hosts: StoreHosts, sharedSecret: String?, anchor: String) {
            self.hosts = hosts
            self.sharedSecret = sharedSecret
            self.anchor = anchor
        }
    }

    /// The folder, mode 0700, for all files of the server, the SQLite database among them.
    public var dataDirectory: URL
    /// The address to listen on; loopback by default.
    public var host: String
    /// The port; 0 takes any free port.
    public var port: Int
    /// The command-line option for ``port``, which the error names when the port cannot be opened.
    public var portOption = "--port"
    /// The database's `postgres://…` URL; nil for SQLite in the data directory.
    public var databaseURL: String?
    /// The schema in PostgreSQL. Merchants that share a database server each need their own schema.
    public var schema: String
    /// The stores whose purchases are accepted.
    public var stores: [TrustedStore]
    /// The apps whose purchases are accepted, besides those of the product files.
    public var bundleIDs: Set<BundleID>
    /// The numbers of apps at the store (`appAppleId`), which notifications of production must have. The number of
    /// another app is not checked.
    public var appIDs: [BundleID: Int64] = [:]
    /// The merchant's rules for purchases and balances.
    public var policy: MerchantPolicy
    /// Product files, one for each app, which are loaded at the start.
    public var productsFiles: [URL]
    /// The file of keys for users' tokens; nil for the file in the data directory.
    public var tokenKeys: URL?
    /// The store that verifies receipts; nil for a merchant that verifies all purchases itself.
    public var remote: RemoteStore?
    /// The keys of stores' APIs, one for each app.
    public var storeAPI: [StoreAPIAccess] = []
    /// Whether the policy asks for requests to the stores' API, and there is no key with which to send them.
    public var lacksStoreKeys: Bool {
        storeAPI.isEmpty && (policy.consumption != nil || policy.setsAccountTokens)
    }
    /// The receiver of webhooks; nil for none.
    public var webhooks: WebhookReceiver?
    /// The bucket for content; nil for a folder in the data directory.
    public var bucket: S3Location?
    /// The rate limits; nil for none.
    public var rates: RateLimits.Rates?
    /// Whether the server is behind a proxy that adds the client's address to `X-Forwarded-For`.
    public var isBehindProxy: Bool
    /// The limits on connections and bodies, which the servers of a process share.
    public var limits = ServerLimits()
    /// Whether the merchant may start without an app, because its store tells it of apps later.
    package var mayLackApps = false
    /// How long a webhook that this process has taken is kept from other processes.
    package var webhookLease = WebhookDelivery.lease
    /// The lowest rate at which a client may upload or download.
    package var stallPatience = StallWatch.Rule.usual
    /// Called at each step, for crash tests.
    package var onStep: (@Sendable (MerchantStep) -> Void)?

    /// Creates a configuration.
    public init(
        dataDirectory: URL, host: String = "127.0.0.1", port: Int = 8410, databaseURL: String? = nil,
        schema: String = "cornerstore_merchant", stores: [TrustedStore], bundleIDs: Set<BundleID> = [],
        policy: MerchantPolicy = MerchantPolicy(), productsFiles: [URL] = [], tokenKeys: URL? = nil,
        remote: RemoteStore? = nil, webhooks: WebhookReceiver? = nil, bucket: S3Location? = nil,
        rates: RateLimits.Rates? = .standard, isBehindProxy: Bool = false
    ) {
        self.dataDirectory = dataDirectory
        self.host = host
        self.port = port
        self.databaseURL = databaseURL
        self.schema = schema
        self.stores = stores
        self.bundleIDs = bundleIDs
        self.policy = policy
        self.productsFiles = productsFiles
        self.tokenKeys = tokenKeys
        self.remote = remote
        self.webhooks = webhooks
        self.bucket = bucket
        self.rates = rates
        self.isBehindProxy = isBehindProxy
    }

    /// Whether ``host`` is a loopback address.
    public var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }

    /// Reads the product files.
    func products() throws -> [ProductsFile] {
        try productsFiles.map { file in
            try ProductsFile(
                yaml: Array(try SecretFile.readPublic(file, limit: ProductsFile.largest, "file of products")),
                file: file.lastPathComponent)
        }
    }

    /// Returns the apps whose purchases are accepted, those of the product files included.
    /// - Throws: ``MerchantServerError`` or ``MerchantError`` for a product file that cannot be read.
    public func allBundleIDs() throws -> Set<BundleID> { bundleIDs.union(try products().map(\.bundleID)) }
}
