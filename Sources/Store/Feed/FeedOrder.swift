/// The directory layouts of the feed, which differ by its version.
public enum FeedLayout: String, Sendable, Codable, CaseIterable {
    /// One archive for each group of tables: version 3.
    case groups = "v3"
    /// One archive for each table: versions 4 and 5.
    case tables = "v5"
    /// One archive for each storefront and medium.
    case flat
}

/// An order for a build.
public struct FeedOrder: Sendable {
    /// Whether to build everything, or what changed since the last full feed.
    public var mode: FeedMode
    /// The day of the feed.
    public var day: FeedDay
    /// The storefront's base URL, which links in the feed begin with.
    public var base: String
    /// The layouts. An incremental feed has no flat files.
    public var layouts: Set<FeedLayout>
    /// The storefronts of the flat feed.
    public var countries: [Storefront]

    /// The most storefronts of the flat feed. Each takes seven open files.
    public static let mostCountries = 20

    /// Creates an order.
    public init(
        _ mode: FeedMode, _ day: FeedDay, base: String, layouts: Set<FeedLayout> = Set(FeedLayout.allCases),
        countries: [Storefront] = [.unitedStates]
    ) {
        self.mode = mode
        self.day = day
        self.base = base
        self.layouts = mode == .full ? layouts : layouts.subtracting([.flat])
        self.countries = Array(countries.prefix(Self.mostCountries))
    }

    var hasTables: Bool { layouts.contains(.groups) || layouts.contains(.tables) }
}

/// A point in a build at which the process may be killed.
enum FeedStep: Sendable, Equatable {
    case folderMade
    case filesOpened
    case rowsWritten
    case archiveWritten(String)
    case manifestWritten
    case published
}

/// The sales of a storefront, the best-selling item first.
struct FeedSales: Sendable {
    var storefront: Storefront
    var items: [ItemSales]
}

/// The number of times that an item was bought.
public struct ItemSales: Sendable, Equatable {
    /// The item's number.
    public var item: Int64
    /// The number of purchases that were not refunded.
    public var count: Int64
}
