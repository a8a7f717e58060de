/// The partner feed.
extension ControlAPI {
    /// A feed that has been built.
    public struct Feed: Codable, Sendable, Equatable {
        /// `full` or `incremental`.
        public var mode: String
        /// The feed's day in UTC, such as `2026-01-07`.
        public var day: String
        /// The number of items.
        public var items: Int
        /// The number of archives.
        public var archives: Int
        /// The bytes of all files.
        public var bytes: Int64
        /// The number of prices of 1,000,000 or more, which the feed leaves out: its `DECIMAL(9.3)` cannot hold them.
        public var pricesLeftOut: Int

        /// Creates a feed.
        public init(mode: String, day: String, items: Int, archives: Int, bytes: Int64, pricesLeftOut: Int) {
            self.mode = mode
            self.day = day
            self.items = items
            self.archives = archives
            self.bytes = bytes
            self.pricesLeftOut = pricesLeftOut
        }
    }

    /// The feeds, and whether one is being built.
    public struct Feeds: Codable, Sendable, Equatable {
        /// The feeds, oldest first.
        public var feeds: [Feed]
        /// Whether a feed is being built.
        public var isBuilding: Bool
        /// The reason why the last build failed; nil when it succeeded, or while a feed is being built.
        public var failure: String?

        /// Creates the list.
        public init(feeds: [Feed], isBuilding: Bool, failure: String?) {
            self.feeds = feeds
            self.isBuilding = isBuilding
            self.failure = failure
        }
    }

    /// An order to build a feed.
    public struct FeedOrder: Codable, Sendable, Equatable {
        /// `full` or `incremental`; nil for the one that is due.
        public var mode: String?
        /// The feed's day, such as `2026-01-07`; nil for today by the store's clock.
        public var day: String?

        /// Creates an order.
        public init(mode: String? = nil, day: String? = nil) {
            self.mode = mode
            self.day = day
        }
    }

    /// A partner who may download the feed.
    public struct Partner: Codable, Sendable, Equatable {
        /// The user name.
        public var name: String
        /// When the operator added the partner, in ISO 8601.
        public var createdDate: String

        /// Creates a partner.
        public init(name: String, createdDate: String) {
            self.name = name
            self.createdDate = createdDate
        }
    }

    /// A partner to add.
    public struct NewPartner: Codable, Sendable, Equatable {
        /// The user name.
        public var name: String

        /// Creates a partner.
        public init(name: String) { self.name = name }
    }

    /// The password of a new partner. The store keeps only its hash.
    public struct PartnerPassword: Codable, Sendable, Equatable {
        /// The user name.
        public var name: String
        /// The password.
        public var password: String

        /// Creates the answer.
        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }
    }
}
