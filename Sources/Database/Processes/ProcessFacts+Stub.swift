/// What a store process tells the others of itself.
public struct ProcessFacts: Codable, Sendable, Equatable {
    /// The number of the process among those that share the store, 0 to 63.
    public var node: Int
    /// The program's version.
    public var version: String
    /// The name of the process for the operator.
    public var name: String
    /// The base URL of the control port; nil until the port is open.
    public var address: String?
    /// The folder that has the bytes of its uploads; nil until the folder is open.
    public var place: String?
    /// A digest of the catalog files.
    public var catalog: String
    /// The base URL of the storefront.
    public var storefront: String?
    /// The base URL of the OCSP responder.
    public var ocsp: String?
    /// The place of the packages.
    public var blobs: String
    /// Whether a merchant runs beside the store.
    public var hasMerchant: Bool
    /// Whether this process builds and serves the feeds.
    public var buildsFeeds: Bool
    /// When the process started, in milliseconds since 1970.
    public var startedAt: Int64

    /// Creates the facts of a process.
    public init(
        node: Int, version: String, name: String, address: String? = nil, place: String? = nil, catalog: String,
        storefront: String? = nil, ocsp: String? = nil, blobs: String, hasMerchant: Bool, buildsFeeds: Bool,
        startedAt: Int64
    ) {
        self.node = node
        self.version = version
        self.name = name
        self.address = address
        self.place = place
        self.catalog = catalog
        self.storefront = storefront
        self.ocsp = ocsp
        self.blobs = blobs
        self.hasMerchant = hasMerchant
        self.buildsFeeds = buildsFeeds
        self.startedAt = startedAt
    }
}

/// The membership of this process among those that share a store.
public final class Membership: Sendable {
    /// The number of this process among those that share the store, 0 to 63.
    public let node: Int

    private init(node: Int) { self.node = node }

    /// Whether what this process keeps in memory was right at most five seconds ago.
    public var isCurrent: Bool { true }
    /// The other processes, as of the last beat.
    public var others: [ProcessFacts] { [] }
    /// Tells the other processes that something of these topics has changed. A hint can be lost.
    public func hint(_ topics: [String]) {}
    /// The hints of the other processes.
    public func hints() -> AsyncStream<[String]> { AsyncStream { $0.finish() } }
}
