import Foundation

/// The rows of the tables that do not depend on the catalog, and the numbers by which other tables refer to them.
/// `Documentation/PartnerFeed.md` says which numbers are Apple's.
enum FeedConstants {
    typealias Name = (number: Int, name: String)

    static let mediaTypes: [Name] = [
        (1, "Music"), (2, "Podcasts"), (3, "Audiobooks"), (4, "TV Shows"), (5, "Music Videos"), (6, "Movies"),
        (7, "iPod Games"), (8, "Mobile Software Applications"), (9, "Ringtones"), (10, "iTunes U"), (11, "E-Books"),
        (12, "Desktop Apps"),
    ]
    static let artistTypes: [(number: Int, name: String, media: Int)] = [
        (1, "Artist", 1), (2, "TV Show", 4), (3, "Studio", 6), (4, "Podcast Artist", 2), (5, "Author", 3),
        (6, "Movie Artist", 6), (7, "Software Artist", 8), (8, "iTunes U Artist", 10),
    ]
    static let deviceTypes: [Name] = [
        (2, "iPhoneFirstGen"), (3, "iPodTouchFirstGen"), (4, "iPodTouchSecondGen"), (5, "iPhone3G"), (6, "iPhone3GS"),
        (7, "iPadWifi"), (8, "iPad3G"), (9, "iPhone4"), (10, "iPodTouchThirdGen"), (11, "iPodTouchFourthGen"),
        (12, "iPad2Wifi"), (13, "iPad23G"), (14, "MacDesktop"), (15, "iPhone4S"), (16, "iPadThirdGen"),
        (17, "iPadThirdGen4G"), (18, "iPhone5"), (19, "iPodTouchFifthGen"), (20, "iPadFourthGen"),
        (21, "iPadFourthGen4G"), (22, "iPadMini"), (23, "iPadMini4G"),
    ]
    static let collectionTypes: [Name] = [(album, "Album"), (season, "TV Season")]
    static let parentalAdvisories: [Name] = [(1, "Explicit"), (2, "Cleaned")]
    static let roles: [Name] = [(1, "Artist"), (2, "Director"), (3, "TV Show")]

    static let album = 1
    static let season = 2

    static func advisory(_ explicitness: ItemExplicitness) -> Int64? {
        switch explicitness {
        case .notExplicit: nil
        case .explicit: 1
        case .cleaned: 2
        }
    }

    static func role(_ kind: ItemKind) -> Int {
        switch kind {
        case .film: 2
        case .episode, .season: 3
        case .app, .song, .album, .book: 1
        }
    }

    static func media(_ kind: ItemKind) -> Int {
        switch kind {
        case .app: 8
        case .song, .album: 1
        case .film: 6
        case .episode, .season: 4
        case .book: 11
        }
    }

    static func artistType(_ kind: ItemKind) -> Int {
        switch kind {
        case .app: 7
        case .song, .album: 1
        case .film: 6
        case .episode, .season: 2
        case .book: 5
        }
    }

    /// The device that stands for all of a system.
    static func device(_ platform: ItemPlatform) -> Int {
        switch platform {
        case .iPhone: 18
        case .iPad: 22
        case .mac: 14
        }
    }

    /// Adds the parameter that says that a link comes from the feed.
    static func origin(_ link: String) -> String { link + (link.contains("?") ? "&uo=5" : "?uo=5") }

    // MARK: Genres

    static let appStore: Int64 = 36
    private static let games: Int64 = 6014

    /// The genre above an app's genre; nil for the highest and for genres of other items.
    static func parent(ofGenre number: Int64) -> Int64? {
        switch number {
        case 6000...6999: appStore
        case 7001...7018: games
        default: nil
        }
    }

    /// Adds the genres above those that are there.
    static func addParents(to genres: inout [Int64: String]) {
        for number in genres.keys {
            guard let parent = parent(ofGenre: number) else { continue }
            if genres[parent] == nil { genres[parent] = parent == appStore ? "App Store" : "Games" }
            if parent == games, genres[appStore] == nil { genres[appStore] = "App Store" }
        }
    }

    /// A genre and those above it.
    static func lineage(_ genre: Int64) -> [Int64] {
        Array(sequence(first: genre, next: { parent(ofGenre: $0) }))
    }

    /// The English name of a storefront's country.
    static func name(_ storefront: Storefront) -> String {
        Locale(identifier: "en_US").localizedString(forRegionCode: storefront.regionCode) ?? storefront.countryCode
    }
}
