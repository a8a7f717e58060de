import BlobStorage
import Foundation
import HTTPSupport
import Merchant
import StoreWire

/// How a merchant's server is started.
public struct MerchantServerConfiguration: Sendable {
    /// A store that is asked about receipts, for a merchant that does not prove them by itself.
    public struct RemoteStore: Sendable {
        public var hosts: StoreHosts
        /// The app's shared secret at the store.
        public var sharedSecret: String?
        /// The anchor that the store's purchases have.
        public var anchor: String

        public init(hosts: StoreHosts, sharedSecret: String?, anchor: String) {
            self.hosts = hosts
            self.sharedSecret = sharedSecret
            self.anchor = anchor
        }
    }

    /// Everything that the server keeps beside its database, mode 0700.
    public var dataDirectory: URL
    /// Where to listen; loopback unless told otherwise.
    public var host: String
    /// 0 takes any free port.
    public var port: Int
    /// The option by which the operator names ``port``, for the error when it cannot be had.
    public var portOption = "--port"
    /// `postgres://…`, or nil for SQLite in the data directory.
    public var databaseURL: String?
    /// The schema in PostgreSQL; merchants that share a server each need one of their own.
    public var schema: String
    /// Whose purchases are taken.
    public var stores: [TrustedStore]
    /// The apps whose purchases are taken, beside those of the files of products.
    public var bundleIDs: Set<BundleID>
    public var policy: MerchantPolicy
    /// Files of products, an app each, taken in at the start.
    public var productsFiles: [URL]
    /// The keys of users' tokens; nil for those in the data directory.
    public var tokenKeys: URL?
    /// nil for a merchant that proves all purchases by itself.
    public var remote: RemoteStore?
    /// Where changes go; nil for nowhere.
    public var webhooks: WebhookReceiver?
    /// The bucket for content, or nil for a folder in the data directory.
    public var bucket: S3Location?
    /// nil for no bound.
    public var rates: RateLimits.Rates?
    /// Whether a proxy stands before the server that adds the client's address to `X-Forwarded-For`.
    public var isBehindProxy: Bool
    /// The bounds on connections and bodies, which the servers of a process share.
    public var limits = ServerLimits()
    /// For how long a webhook that this process has taken is taken by no other.
    package var webhookLease = WebhookDelivery.lease
    /// How long an upload or a download may stand still.
    package var stallPatience = StallWatch.Rule.usual
    /// Is told of each step, for tests of crashes.
    package var onStep: (@Sendable (MerchantStep) -> Void)?

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

    /// Whether ``host`` is this machine only.
    public var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
}
