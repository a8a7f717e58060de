/// The facts about a process for the other processes on the same database.
public struct ProcessFacts: Codable, Sendable, Equatable {
    /// Its node number. ``Membership`` sets it.
    public var node: Int
    /// The program's version.
    public var version: String
    /// A name for people, such as its process number and its machine.
    public var name: String
    /// The base URL of its control port; nil until it is known.
    public var address: String?
    /// The folder with the uploads in progress; nil for none.
    public var place: String?
    /// A digest of the file catalog.
    public var catalog: String
    /// The base URL of the storefront.
    public var storefront: String?
    /// The URL of the OCSP responder.
    public var ocsp: String?
    /// The location of the hosted content. One that begins with ``privateBlobs`` is out of other processes' reach.
    public var blobs: String
    /// The options by which subscriptions renew, with their values.
    public var renewals: [String: String]?
    /// Whether a merchant runs beside the store.
    public var hasMerchant: Bool
    /// Whether it builds and serves the feeds.
    public var buildsFeeds: Bool
    /// The time of its start, in milliseconds since 1970.
    public var startedAt: Int64
    /// The reason why it cannot answer requests; nil when it can.
    public var problem: String?

    /// The beginning of ``blobs`` for a folder that other processes do not see.
    public static let privateBlobs = "private:"

    /// Creates facts. The parameters are the properties.
    public init(
        node: Int = 0, version: String, name: String, address: String? = nil, place: String? = nil,
        catalog: String = "", storefront: String? = nil, ocsp: String? = nil, blobs: String = "",
        renewals: [String: String]? = nil, hasMerchant: Bool = false, buildsFeeds: Bool = false, startedAt: Int64,
        problem: String? = nil
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
        self.renewals = renewals
        self.hasMerchant = hasMerchant
        self.buildsFeeds = buildsFeeds
        self.startedAt = startedAt
        self.problem = problem
    }

    /// The setting that keeps the two processes from sharing a database, with its two values, for an error message; nil
    /// when they can share one. The catalogs may differ for a while.
    public func conflict(with other: ProcessFacts) -> String? {
        func text(_ value: String?) -> String { value ?? "none" }
        if version != other.version { return "the version is \(version) here and \(other.version) there" }
        if storefront != other.storefront {
            return "--storefront-url is \(text(storefront)) here and \(text(other.storefront)) there"
        }
        if ocsp != other.ocsp { return "--ocsp-url is \(text(ocsp)) here and \(text(other.ocsp)) there" }
        if blobs != other.blobs { return "--blobs is \(blobs) here and \(other.blobs) there" }
        if blobs.hasPrefix(Self.privateBlobs) {
            return "the content is in a folder; use a bucket (--blobs s3://…) for all processes"
        }
        if hasMerchant != other.hasMerchant { return "--no-merchant is given to only one of them" }
        let (here, there) = (renewals ?? [:], other.renewals ?? [:])
        for option in Set(here.keys).union(there.keys).sorted() where here[option] != there[option] {
            return "\(option) is \(text(here[option])) here and \(text(there[option])) there"
        }
        return nil
    }
}

/// Another process on the same database, as of this process's last beat.
public struct KnownProcess: Sendable, Equatable {
    /// The facts that it announced last.
    public var facts: ProcessFacts
    /// The time since its last sign of life, in milliseconds by PostgreSQL's clock.
    public var silence: Int64

    /// Creates a process. The parameters are the properties.
    public init(facts: ProcessFacts, silence: Int64) {
        self.facts = facts
        self.silence = silence
    }
}
