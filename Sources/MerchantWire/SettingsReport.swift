import StoreWire

/// The settings of a merchant's server, without its secrets.
public struct SettingsReport: Codable, Sendable, Equatable {
    /// A rate of requests.
    public struct Rate: Codable, Sendable, Equatable {
        /// The number of requests at once.
        public var burst: Double
        /// The number of requests a second over a longer time.
        public var perSecond: Double

        /// Creates a rate.
        public init(burst: Double, perSecond: Double) {
            self.burst = burst
            self.perSecond = perSecond
        }
    }

    /// The rates of each network address, user and API key.
    public struct Rates: Codable, Sendable, Equatable {
        /// The rate of each network address.
        public var address: Rate
        /// The rate of each user.
        public var user: Rate
        /// The rate of each API key.
        public var key: Rate
        /// The rate at which users of one network address may name transactions that the store does not know.
        public var addressGuesses: Rate
        /// The same rate of each user.
        public var userGuesses: Rate

        /// Creates rates.
        public init(address: Rate, user: Rate, key: Rate, addressGuesses: Rate, userGuesses: Rate) {
            self.address = address
            self.user = user
            self.key = key
            self.addressGuesses = addressGuesses
            self.userGuesses = userGuesses
        }
    }

    /// The apps whose purchases are accepted.
    public var bundleIDs: [BundleID]
    /// The stores whose purchases are accepted, by the names of their trust anchors.
    public var stores: [String]
    /// Whether the server asks the store about receipts (`verifyReceipt`) instead of verifying them itself.
    public var asksStore: Bool
    /// The environments whose purchases are accepted.
    public var environments: [StoreEnvironment]
    /// The environment of the balance for a request that names none.
    public var usualEnvironment: StoreEnvironment
    /// Whether credits of both environments share one balance.
    public var joinsEnvironments: Bool
    /// The answer when a user redeems the purchase of another: `refuse`, `transfer` or `family`.
    public var conflict: String
    /// How credits of a refunded purchase are taken back: `toZero`, `belowZero` or `flag`.
    public var refund: String
    /// How credits are taken back after a change of plan: `takeBack`, `prorate` or `keep`.
    public var superseded: String
    /// Whether free trials grant credits.
    public var givesCreditsForTrials: Bool
    /// Whether shared copies grant credits.
    public var givesCreditsForSharedCopies: Bool
    /// How often a user may download content with a purchase that nobody has redeemed.
    public var downloadsBeforeRedemption: Int
    /// The address of the webhooks' receiver without its query; nil when no webhooks are sent.
    public var webhook: String?
    /// The rates; nil when requests are not limited.
    public var rates: Rates?
    /// Whether the server takes clients' addresses from `X-Forwarded-For`.
    public var isBehindProxy: Bool
    /// The kind of database: `SQLite` or `PostgreSQL`.
    public var database: String

    /// Creates a report.
    public init(
        bundleIDs: [BundleID], stores: [String], asksStore: Bool, environments: [StoreEnvironment],
        usualEnvironment: StoreEnvironment, joinsEnvironments: Bool, conflict: String, refund: String,
        superseded: String, givesCreditsForTrials: Bool, givesCreditsForSharedCopies: Bool,
        downloadsBeforeRedemption: Int, webhook: String?, rates: Rates?, isBehindProxy: Bool, database: String
    ) {
        self.bundleIDs = bundleIDs
        self.stores = stores
        self.asksStore = asksStore
        self.environments = environments
        self.usualEnvironment = usualEnvironment
        self.joinsEnvironments = joinsEnvironments
        self.conflict = conflict
        self.refund = refund
        self.superseded = superseded
        self.givesCreditsForTrials = givesCreditsForTrials
        self.givesCreditsForSharedCopies = givesCreditsForSharedCopies
        self.downloadsBeforeRedemption = downloadsBeforeRedemption
        self.webhook = webhook
        self.rates = rates
        self.isBehindProxy = isBehindProxy
        self.database = database
    }

    private enum CodingKeys: String, CodingKey {
        case bundleIDs = "bundleIds"
        case stores, asksStore, environments, usualEnvironment, joinsEnvironments, conflict, refund, superseded
        case givesCreditsForTrials, givesCreditsForSharedCopies, downloadsBeforeRedemption, webhook, rates
        case isBehindProxy, database
    }
}
