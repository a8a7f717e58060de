import StoreWire

/// An item that the storefront shows and the store sells: an app, or a piece of music, film, television or writing.
/// In-app purchases are not items; they are products of a ``CatalogApp``.
///
/// `Documentation/StoreItems.md` gives the sources for the fields and for the values that Apple's store uses.
public struct CatalogItem: Sendable, Hashable {
    /// The item's number in links, search and lookup (`trackId`, or `collectionId` of albums and seasons). Unique in a
    /// ``Catalog``, among products as well.
    public var number: Int64
    /// The kind of item.
    public var kind: ItemKind
    /// An app's bundle identifier; nil for all other kinds.
    public var bundleID: BundleID?
    /// The systems that an app runs on, at least one; empty for all other kinds.
    public var platforms: [ItemPlatform]
    /// The developer of an app, the artist of a song or album, the show of an episode or season, the author of a book,
    /// the director of a film.
    public var creator: ItemCreator
    /// The company that sells the item (`sellerName`), if it is not the creator.
    public var seller: String?
    /// The seller's website.
    public var sellerURL: String?
    /// The address where customers get help.
    public var supportURL: String?
    /// The genres, the primary one first; at least one.
    public var genres: [ItemGenre]
    /// The names and descriptions, one for a locale, the default first; at least one.
    public var texts: [ItemText]
    /// The versions, newest first. An app has at least one; other kinds have none.
    public var versions: [ItemVersion]
    /// The date of the first release, in milliseconds since 1970.
    public var releaseDate: Int64
    /// The icon, cover or poster.
    public var artwork: ItemPicture?
    /// The screenshots of an app, in the order in which the page shows them.
    public var screenshots: [ItemScreenshot]
    /// The clip that the page plays.
    public var preview: ItemFile?
    /// The file that a customer gets; nil for albums and seasons, and for items that cannot be downloaded.
    public var file: ItemFile?
    /// The price; nil for an item that is not sold by itself, such as an album.
    public var prices: CatalogPrices?
    /// The storefronts that show and sell the item.
    public var availability: CatalogAvailability
    /// The age rating of an app (`4+`, `9+`, `12+`, `17+`), or the rating of a film or episode (`PG`, `TV-14`).
    public var contentRating: String?
    /// The reasons for an app's age rating, such as `Infrequent/Mild Cartoon or Fantasy Violence`.
    public var advisories: [String]
    /// Whether a song, album, film or episode has explicit words.
    public var explicitness: ItemExplicitness
    /// The lowest version of the system that an app runs on, such as `13.0`.
    public var minimumSystemVersion: String?
    /// The languages of an app or book, as ISO 639-1 codes in upper case (`EN`, `ZH`).
    public var languages: [String]
    /// The numbers of items that the page recommends. Numbers that the catalog does not have are left out of pages.
    public var relatedItems: [Int64]
    /// The copyright notice.
    public var copyright: String?
    /// The place of a song in its album, or of an episode in its season.
    public var place: ItemPlace?
    /// The playing time of a song, film or episode in milliseconds.
    public var duration: Int64?

    /// Creates an item. Only what every kind of item has must be given.
    public init(
        number: Int64, kind: ItemKind, bundleID: BundleID? = nil, platforms: [ItemPlatform] = [], creator: ItemCreator,
        seller: String? = nil, sellerURL: String? = nil, supportURL: String? = nil, genres: [ItemGenre],
        texts: [ItemText], versions: [ItemVersion] = [], releaseDate: Int64, artwork: ItemPicture? = nil,
        screenshots: [ItemScreenshot] = [], preview: ItemFile? = nil, file: ItemFile? = nil,
        prices: CatalogPrices? = nil, availability: CatalogAvailability = .everywhere, contentRating: String? = nil,
        advisories: [String] = [], explicitness: ItemExplicitness = .notExplicit, minimumSystemVersion: String? = nil,
        languages: [String] = [], relatedItems: [Int64] = [], copyright: String? = nil, place: ItemPlace? = nil,
        duration: Int64? = nil
    ) {
        self.number = number
        self.kind = kind
        self.bundleID = bundleID
        self.platforms = platforms
        self.creator = creator
        self.seller = seller
        self.sellerURL = sellerURL
        self.supportURL = supportURL
        self.genres = genres
        self.texts = texts
        self.versions = versions
        self.releaseDate = releaseDate
        self.artwork = artwork
        self.screenshots = screenshots
        self.preview = preview
        self.file = file
        self.prices = prices
        self.availability = availability
        self.contentRating = contentRating
        self.advisories = advisories
        self.explicitness = explicitness
        self.minimumSystemVersion = minimumSystemVersion
        self.languages = languages
        self.relatedItems = relatedItems
        self.copyright = copyright
        self.place = place
        self.duration = duration
    }

    /// The item's price in a storefront; nil when the storefront does not sell it.
    public func price(in storefront: Storefront) -> Money? {
        availability.includes(storefront) ? prices?.price(in: storefront) : nil
    }

    /// Whether a song or episode comes before another one of its album or season.
    func isBefore(_ other: CatalogItem) -> Bool {
        func key(_ item: CatalogItem) -> (Int, Int, Int64) {
            (item.place?.disc ?? 0, item.place?.track ?? 0, item.number)
        }
        return key(self) < key(other)
    }

    /// The text that suits a reader best: the first of the languages that the item has, or else the default text.
    /// - Parameter languages: BCP 47 or POSIX names, the preferred first.
    public func text(for languages: [String]) -> ItemText {
        Self.best(texts, languages, locale: \.locale) ?? ItemText(locale: "en", name: String(number))
    }

    /// The text in the first wanted language that has one, or else the first text. Nil without texts.
    static func best<Text>(_ texts: [Text], _ languages: [String], locale: (Text) -> String) -> Text? {
        guard texts.count > 1 else { return texts.first }
        for wanted in languages.lazy.compactMap({ LanguageTag($0) }) {
            let rated = texts.compactMap { text in
                LanguageTag(locale(text))?.suitability(for: wanted).map { (text: text, suitability: $0) }
            }
            // Of equal ones, the first in the catalog.
            if let best = rated.max(by: { $0.suitability < $1.suitability })?.suitability,
                let first = rated.first(where: { $0.suitability == best })
            {
                return first.text
            }
        }
        return texts.first
    }
}

/// The kinds of items.
public enum ItemKind: String, Sendable, Hashable, CaseIterable {
    /// An app for a phone, a tablet or a computer.
    case app
    /// A song.
    case song
    /// A collection of songs.
    case album
    /// A film.
    case film
    /// An episode of a show.
    case episode
    /// A collection of episodes.
    case season
    /// A book to read.
    case book

    /// Whether items of this kind only group other items.
    public var isCollection: Bool { self == .album || self == .season }
}

/// The systems that an app runs on.
public enum ItemPlatform: String, Sendable, Hashable, CaseIterable {
    case iPhone = "iphone"
    case iPad = "ipad"
    case mac
}

/// The creator of an item: its developer, artist, author or director, or the show that an episode belongs to.
public struct ItemCreator: Sendable, Hashable {
    /// The creator's number (`artistId`). One number has one name in a ``Catalog``.
    public var number: Int64
    /// The creator's name (`artistName`).
    public var name: String

    /// Creates a creator.
    public init(number: Int64, name: String) {
        self.number = number
        self.name = name
    }
}

/// A genre of the store.
public struct ItemGenre: Sendable, Hashable {
    /// The genre's number, such as 6014 for games.
    public var number: Int64
    /// The genre's English name.
    public var name: String

    /// Creates a genre.
    public init(number: Int64, name: String) {
        self.number = number
        self.name = name
    }
}

/// An item's words in one language.
public struct ItemText: Sendable, Hashable {
    /// The locale as the catalog has it, such as `en_US` or `zh_Hans`.
    public var locale: String
    /// The item's name.
    public var name: String
    /// The description, as plain text with line feeds.
    public var description: String?
    /// A film's or episode's description in one sentence.
    public var shortDescription: String?

    /// Creates a text.
    public init(locale: String, name: String, description: String? = nil, shortDescription: String? = nil) {
        self.locale = locale
        self.name = name
        self.description = description
        self.shortDescription = shortDescription
    }
}

/// A version of an app.
public struct ItemVersion: Sendable, Hashable {
    /// The version's number, such as `1.2.1`.
    public var version: String
    /// The release date in milliseconds since 1970.
    public var releaseDate: Int64
    /// The notes that came with the version, by the locales of the item's texts; the first is the default.
    public var notes: [ItemNote]

    /// Creates a version.
    public init(version: String, releaseDate: Int64, notes: [ItemNote] = []) {
        self.version = version
        self.releaseDate = releaseDate
        self.notes = notes
    }
}

/// The notes of a version in one language.
public struct ItemNote: Sendable, Hashable {
    /// The locale as the catalog has it.
    public var locale: String
    /// The notes, as plain text with line feeds.
    public var text: String

    /// Creates a note.
    public init(locale: String, text: String) {
        self.locale = locale
        self.text = text
    }
}

/// A picture beside the catalog.
public struct ItemPicture: Sendable, Hashable {
    /// The absolute path of the PNG or JPEG file.
    public var path: String
    /// The width in pixels, from the file's header.
    public var width: Int
    /// The height in pixels, from the file's header.
    public var height: Int
    /// The file's modification time in milliseconds since 1970, when the catalog was read. A new file at the same path
    /// gets new addresses by it.
    public var modified: Int64

    /// Creates a picture.
    public init(path: String, width: Int, height: Int, modified: Int64) {
        self.path = path
        self.width = width
        self.height = height
        self.modified = modified
    }
}

/// A picture of an app in use.
public struct ItemScreenshot: Sendable, Hashable {
    /// The system in the picture.
    public var platform: ItemPlatform
    /// The picture.
    public var picture: ItemPicture

    /// Creates a screenshot.
    public init(platform: ItemPlatform, picture: ItemPicture) {
        self.platform = platform
        self.picture = picture
    }
}

/// A file beside the catalog that the store delivers or plays.
public struct ItemFile: Sendable, Hashable {
    /// The absolute path.
    public var path: String
    /// The media type, such as `audio/wav`, `video/webm` or `application/epub+zip`.
    public var mediaType: String
    /// The length in bytes when the catalog was read.
    public var length: Int64

    /// Creates a file.
    public init(path: String, mediaType: String, length: Int64) {
        self.path = path
        self.mediaType = mediaType
        self.length = length
    }

    /// The last part of the path.
    public var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// The place of a song in its album, or of an episode in its season.
public struct ItemPlace: Sendable, Hashable {
    /// The number of the album or season.
    public var collection: Int64
    /// The disc or part, from 1.
    public var disc: Int
    /// The track on the disc, from 1.
    public var track: Int

    /// Creates a place.
    public init(collection: Int64, disc: Int = 1, track: Int) {
        self.collection = collection
        self.disc = disc
        self.track = track
    }
}

/// Whether an item has explicit words, with the values of Apple's search API.
public enum ItemExplicitness: String, Sendable, Hashable, CaseIterable {
    case notExplicit
    case explicit
    /// An edited version of an explicit item.
    case cleaned
}
