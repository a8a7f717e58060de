import CornerstoreEncoding
import Database
import Foundation
import StoreWire

/// The campaign of a link to an item, or of an item's page in an app: the parameters `at`, `ct` and `pt`.
public struct Campaign: Sendable, Hashable {
    /// The affiliate's token (`at`), or an empty text.
    public let affiliate: String
    /// The campaign's name (`ct`), or an empty text.
    public let campaign: String
    /// The provider's number (`pt`), or an empty text.
    public let provider: String

    /// The most characters of a parameter, as in Apple's documentation of links.
    static let longest = 40

    /// Reads the parameters of a link. Nil when it has none of them, or one that is too long or has control characters.
    public init?(_ parameters: QueryParameters) {
        self.init(parameters["at"] ?? "", parameters["ct"] ?? "", parameters["pt"] ?? "")
    }

    /// Reads the campaign of a page that an app opened. Nil for the same reasons.
    public init?(_ campaign: VisitCampaign) {
        self.init(campaign.affiliate ?? "", campaign.campaign ?? "", campaign.provider ?? "")
    }

    init?(_ affiliate: String, _ campaign: String, _ provider: String) {
        let texts = [affiliate, campaign, provider]
        guard texts.contains(where: { !$0.isEmpty }),
            texts.allSatisfy({ text in
                text.unicodeScalars.count <= Self.longest
                    && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            })
        else { return nil }
        (self.affiliate, self.campaign, self.provider) = (affiliate, campaign, provider)
    }
}

/// The views of an item's page by a campaign's links on one day.
public struct CampaignViews: Sendable, Equatable {
    /// The day, in days since 1970 in UTC.
    public var day: Int64
    /// The campaign; nil for those of the day that came after ``Campaigns/mostOfDay`` others.
    public var campaign: Campaign?
    /// The number of views.
    public var views: Int64
}

/// Counts the views of items' pages that campaigns led to.
public struct Campaigns: Sendable {
    private let database: Database

    /// The most campaigns of an item that are counted apart on one day. Links are free to make, so they must not fill
    /// the database.
    public static let mostOfDay = 200
    /// The number of days whose views an item keeps. The first view of a day removes those of earlier days.
    public static let days: Int64 = 400
    /// The most rows of a list.
    public static let most = 1_000

    /// Uses the database of the apps.
    public init(_ databases: StoreDatabases) { database = databases.apps }

    /// Counts a view.
    /// - Parameter milliseconds: the time since 1970.
    /// - Throws: ``DatabaseError``.
    public func count(_ campaign: Campaign, of item: Int64, at milliseconds: Int64) async throws {
        let day = milliseconds / 86_400_000
        try await database.write { connection in
            let key: [any SQLConvertible] = [item, day, campaign.affiliate, campaign.campaign, campaign.provider]
            if try Self.add(key, connection) { return }
            let known = try connection.queryOne(
                "SELECT COUNT(*) FROM campaign_views WHERE item = $1 AND day = $2", [item, day])
            let count = try known?.int64(0) ?? 0
            if count == 0 {
                try connection.execute(
                    "DELETE FROM campaign_views WHERE item = $1 AND day <= $2", [item, day - Self.days])
            }
            if count < Self.mostOfDay { return try Self.insert(key, connection) }
            let others: [any SQLConvertible] = [item, day, "", "", ""]
            if try !Self.add(others, connection) { try Self.insert(others, connection) }
        }
    }

    /// The views of an item's page, the newest day first, and on a day the campaign with most views first. At most
    /// ``most`` rows.
    /// - Throws: ``DatabaseError``.
    public func views(of item: Int64) async throws -> [CampaignViews] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT day, affiliate, campaign, provider, views FROM campaign_views WHERE item = $1
                ORDER BY day DESC, views DESC, affiliate, campaign, provider LIMIT $2
                """, [item, Int64(Self.most)]
            ).map { row in
                CampaignViews(
                    day: try row.int64(0),
                    campaign: Campaign(try row.string(1), try row.string(2), try row.string(3)),
                    views: try row.int64(4))
            }
        }
    }

    private static func add(_ key: [any SQLConvertible], _ connection: Connection) throws -> Bool {
        try connection.execute(
            """
            UPDATE campaign_views SET views = views + 1
            WHERE item = $1 AND day = $2 AND affiliate = $3 AND campaign = $4 AND provider = $5
            """, key) == 1
    }

    private static func insert(_ key: [any SQLConvertible], _ connection: Connection) throws {
        try connection.execute(
            """
            INSERT INTO campaign_views (item, day, affiliate, campaign, provider, views) VALUES ($1, $2, $3, $4, $5, 1)
            """, key)
    }
}
