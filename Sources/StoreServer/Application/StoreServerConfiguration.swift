import BlobStorage
import Foundation
import HTTPSupport
import ServerSupport
import Store

/// The configuration of a store server.
public struct StoreServerConfiguration: Sendable {
    /// The folder for everything that the server keeps, mode 0700.
    public var dataDirectory: URL
    /// The catalog files to load and watch.
    public var catalogFiles: [CatalogFile]
    /// The address to listen on; loopback by default.
    public var host: String
    /// The control port's number; 0 takes any free port.
    public var controlPort: Int
    /// The number of the sandbox's protocol port; 0 takes any free port.
    public var sandboxPort: Int
    /// The number of production's protocol port; 0 takes any free port.
    public var productionPort: Int
    /// The storefront's port number; 0 takes any free port.
    public var storefrontPort: Int
    /// The base URL of the storefront's links, without a trailing slash; nil for the port's own address.
    public var storefrontURL: String?
    /// The address of the OCSP responder in the certificates of signed payloads, without a trailing slash; nil for
    /// `/ocsp` at production's protocol port.
    public var ocspURL: String?
    /// The rate limit on searches and lookups for each network address; nil for no limit.
    public var searchRate: TokenRate?
    /// The database's `postgres://…` URL; nil for SQLite in the data directory.
    public var databaseURL: String?
    /// The prefix of the schema names in PostgreSQL. Stores that share a database server each need their own prefix.
    public var schemaPrefix: String
    /// The token that every request to the control port must carry. Required when ``host`` is not loopback.
    public var adminToken: String?
    /// This process's number in transaction ids, 0 to 63; nil for the first free one, which is 0 for a store that does
    /// not share its database.
    public var node: Int?
    /// The key of the store's secrets in the database. With it, several processes may share a PostgreSQL database; nil
    /// for a store of one process, whose secrets are in its data directory.
    public var storeKey: StoreKey?
    /// Whether the server is ready only while a standby confirms every transaction of the database server.
    public var requiresStandby = false
    /// How long the server still answers requests after a stop signal, while `GET /ready` says that it stops.
    public var drainDelay = Duration.zero
    /// The number of connections to each environment's schema in PostgreSQL.
    public var connections = StoreDatabases.connections
    /// Whether a merchant runs beside the store, in the same process.
    public var hasMerchant = false
    /// The bucket for hosted content; nil for a folder in the data directory.
    public var bucket: S3Location?
    /// A folder for hosted content that all processes of the store reach; nil for one in the data directory.
    public var sharedBlobs: URL?
    /// The rate limit on sign-ins; nil for no limit.
    public var signInRates: SignInLimits.Rates? = .standard
    /// How production renews subscriptions. Processes that share a store need the same.
    public var productionRenewals = RenewalPolicy.usual(.production)
    /// How the sandbox renews subscriptions. Processes that share a store need the same.
    public var sandboxRenewals = RenewalPolicy.usual(.sandbox)
    /// How the partner feed is built.
    public var feed = FeedSettings()
    /// The cost of hashing a new password. Tests that open many stores lower it.
    public var passwordCost = PasswordCost.standard
    /// Whether the server is behind a proxy that adds the client's address to `X-Forwarded-For`.
    public var isBehindProxy = false
    /// The limits on connections and bodies, which the servers of a process share.
    public var limits = ServerLimits()
    /// The lowest rate at which a client may upload or download hosted content.
    package var stallPatience = StallWatch.Rule.usual
    /// The longest time of one attempt to send a notification, redirects included.
    package var notificationLimit = NotificationPost.usualLimit

    /// Creates a configuration.
    public init(
        dataDirectory: URL, catalogFiles: [CatalogFile], host: String = "127.0.0.1", controlPort: Int = 8400,
        sandboxPort: Int = 8401,
        productionPort: Int = 8402, storefrontPort: Int = 8403, databaseURL: String? = nil,
        schemaPrefix: String = StoreDatabases.Location.schemaPrefix, adminToken: String? = nil, node: Int? = nil,
        bucket: S3Location? = nil
    ) {
        self.dataDirectory = dataDirectory
        self.catalogFiles = catalogFiles
        self.host = host
        self.controlPort = controlPort
        self.sandboxPort = sandboxPort
        self.productionPort = productionPort
        self.storefrontPort = storefrontPort
        self.databaseURL = databaseURL
        self.schemaPrefix = schemaPrefix
        self.adminToken = adminToken
        self.node = node
        self.bucket = bucket
    }

    /// Whether other processes may use the store's database at the same time: PostgreSQL, with a ``storeKey``.
    public var isShared: Bool { databaseURL != nil && storeKey != nil }

    /// Whether ``host`` is a loopback address.
    public var isLoopback: Bool { host == "localhost" || host == "::1" || isLoopbackIPv4 }

    /// Whether the host is an IPv4 address in 127.0.0.0/8. A host name that begins with 127 may resolve to any address.
    private var isLoopbackIPv4: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
}

/// How the partner feed is built.
public struct FeedSettings: Sendable, Equatable {
    /// Whether the server builds feeds when they are due by the store's clock. The operator can always build one.
    public var isScheduled = false
    /// The layouts to build.
    public var layouts = FeedLayout.allCases
    /// The storefronts of the flat feed, at most ``FeedOrder/mostCountries``.
    public var countries = [Storefront.unitedStates]

    /// Creates settings that build nothing by themselves.
    public init() {}
}

/// The reason why the server did not start, or had to stop.
public struct StoreServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable {
        /// Another process uses the data directory.
        case dataDirectoryInUse
        /// Another store uses the PostgreSQL schemas.
        case databaseInUse
        /// The database, which processes share, cannot be used any more by this one.
        case databaseLost
        /// The data directory cannot be created or written.
        case dataDirectoryUnusable
        /// A port cannot be opened.
        case portUnavailable
        /// The control port would be open to other machines without an admin token.
        case unsafeControlPort
        /// Several processes may use the store, and an option that must be the same for all is missing.
        case sharedSettingMissing
    }

    /// The kind of failure.
    public var code: Code
    /// A sentence for the operator: what failed, and what to do.
    public var detail: String

    /// Creates an error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The ``detail``.
    public var description: String { detail }
}
