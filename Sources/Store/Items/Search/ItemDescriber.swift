import CornerstoreEncoding
import Foundation
import StoreWire

/// Writes the objects of one answer. Keys, types and order are Apple's (`Documentation/StoreItems.md`, sections 3
/// to 5).
struct ItemDescriber {
    let request: SearchRequest
    /// The storefront's base URL.
    let base: String
    let prices: ItemPriceText
    let rating: @Sendable (CatalogItem, Storefront) -> ItemRating
    private let reading: ItemIndex
    private var collections: [Int64: Collection?] = [:]

    private struct Collection {
        var item: CatalogItem
        /// The number of tracks by disc.
        var counts: [Int: Int]
    }

    init(
        _ request: SearchRequest, base: String, prices: ItemPriceText, index: ItemIndex,
        rating: @escaping @Sendable (CatalogItem, Storefront) -> ItemRating
    ) {
        self.request = request
        self.base = base
        self.prices = prices
        self.rating = rating
        reading = index
    }

    private var storefront: Storefront { request.storefront }

    /// The object of an item.
    mutating func object(_ item: CatalogItem) throws -> SearchObject {
        var object = SearchObject()
        switch item.kind {
        case .app: app(item, &object)
        case .song, .film, .episode: try track(item, &object)
        case .album, .season: try collection(item, &object)
        case .book: book(item, &object)
        }
        object.end()
        return object
    }

    /// The object of a developer, artist, author, director or show.
    func object(_ creator: ItemCreator, of item: CatalogItem) -> SearchObject {
        var object = SearchObject()
        object.add("wrapperType", "artist")
        let type =
            switch item.kind {
            case .app: "Software Artist"
            case .song, .album: "Artist"
            case .film: "Movie Artist"
            case .episode, .season: "TV Show"
            case .book: "Author"
            }
        object.add("artistType", type)
        object.add("artistName", creator.name)
        object.add("artistLinkUrl", creatorLink(creator, item.kind))
        object.add("artistId", creator.number)
        if item.kind != .app, let genre = item.genres.first {
            object.add("primaryGenreName", genre.name)
            object.add("primaryGenreId", genre.number)
        }
        object.end()
        return object
    }

    // MARK: Apps

    private func app(_ item: CatalogItem, _ object: inout SearchObject) {
        let text = item.text(for: request.languages)
        let isMac = !item.platforms.contains { $0 != .mac }
        let price = item.price(in: storefront)
        object.add("screenshotUrls", screenshots(item, isMac ? .mac : .iPhone))
        if !isMac {
            object.add("ipadScreenshotUrls", screenshots(item, .iPad))
            object.add("appletvScreenshotUrls", [String]())
        }
        artwork(item, [60, 512, 100], &object)
        object.add("artistViewUrl", creatorLink(item.creator, .app, isMac: isMac))
        if !isMac {
            object.add("isGameCenterEnabled", false)
            object.add("supportedDevices", json: SupportedDevices.json(for: item.platforms))
            object.add(
                "features", item.platforms.contains(.iPhone) && item.platforms.contains(.iPad) ? ["iosUniversal"] : [])
            object.add("advisories", item.advisories)
        }
        object.add("kind", isMac ? "mac-software" : "software")
        if price != nil { object.add("currency", storefront.currency) }
        object.add("minimumOsVersion", item.minimumSystemVersion ?? "1.0")
        object.add("trackCensoredName", text.name)
        object.add("languageCodesISO2A", item.languages)
        object.add("fileSizeBytes", String(item.file?.length ?? 0))
        object.add("formattedPrice", price.map { prices.text($0, in: storefront) })
        object.add("contentAdvisoryRating", item.contentRating ?? "4+")
        let rating = rating(item, storefront)
        object.add("averageUserRatingForCurrentVersion", rating: rating.currentAverage)
        object.add("userRatingCountForCurrentVersion", Int64(rating.currentCount))
        object.add("averageUserRating", rating: rating.average)
        object.add("trackViewUrl", link(item, text.name, isMac: isMac))
        object.add("trackContentRating", item.contentRating ?? "4+")
        let version = item.versions.first
        object.add("currentVersionReleaseDate", Self.date(version?.releaseDate ?? item.releaseDate))
        // The first version has no notes.
        if item.versions.count > 1 { object.add("releaseNotes", version?.note(for: request.languages)) }
        object.add("artistId", item.creator.number)
        object.add("artistName", item.creator.name)
        object.add("genres", item.genres.map(\.name))
        object.add("price", price: price)
        object.add("releaseDate", Self.date(item.releaseDate))
        object.add("trackId", item.number)
        object.add("trackName", text.name)
        object.add("description", text.description ?? "")
        object.add("bundleId", item.bundleID?.rawValue)
        object.add("sellerName", item.seller ?? item.creator.name)
        object.add("sellerUrl", item.sellerURL)
        object.add("primaryGenreName", item.genres.first?.name)
        object.add("primaryGenreId", item.genres.first?.number)
        object.add("genreIds", item.genres.map { String($0.number) })
        object.add("isVppDeviceBasedLicensingEnabled", true)
        object.add("version", version?.version ?? "1.0")
        object.add("wrapperType", "software")
        object.add("userRatingCount", Int64(rating.count))
    }

    private func screenshots(_ item: CatalogItem, _ platform: ItemPlatform) -> [String] {
        item.screenshotAddresses(platform).map { base + $0.path }
    }

    // MARK: Songs, films and episodes

    private mutating func track(_ item: CatalogItem, _ object: inout SearchObject) throws {
        let text = item.text(for: request.languages)
        let collection = try item.place.flatMap { try self.collection($0.collection) }
        let collectionName = collection?.item.text(for: request.languages).name
        object.add("wrapperType", "track")
        object.add("kind", item.kind == .song ? "song" : item.kind == .film ? "feature-movie" : "tv-episode")
        object.add("artistId", item.creator.number)
        object.add("collectionId", collection?.item.number)
        object.add("trackId", item.number)
        object.add("artistName", item.creator.name)
        object.add("collectionName", collectionName)
        object.add("trackName", text.name)
        object.add("collectionCensoredName", collectionName)
        object.add("trackCensoredName", text.name)
        if item.kind == .song, let owner = collection?.item.creator, owner != item.creator {
            if owner.number != item.creator.number { object.add("collectionArtistId", owner.number) }
            object.add("collectionArtistName", owner.name)
        }
        object.add("artistViewUrl", creatorLink(item.creator, item.kind))
        let view = link(item, text.name)
        if collection != nil { object.add("collectionViewUrl", view) }
        object.add("trackViewUrl", view)
        if let path = ItemPreviewAddress.path(of: item) { object.add("previewUrl", base, path) }
        artwork(item, [30, 60, 100], &object)
        let price = item.price(in: storefront)
        if let collection {
            let whole = collection.item.price(in: storefront)
            add("collectionPrice", whole, isSoldOtherwise: price != nil, &object)
            add("trackPrice", price, isSoldOtherwise: whole != nil, &object)
        } else {
            object.add("collectionPrice", price: price)
            object.add("trackPrice", price: price)
        }
        object.add("releaseDate", Self.date(item.releaseDate))
        object.add("collectionExplicitness", (collection?.item ?? item).explicitness.rawValue)
        object.add("trackExplicitness", item.explicitness.rawValue)
        if let collection, let place = item.place {
            object.add("discCount", Int64(max(collection.counts.keys.max() ?? 1, 1)))
            object.add("discNumber", Int64(place.disc))
            object.add("trackCount", Int64(collection.counts[place.disc] ?? 1))
            object.add("trackNumber", Int64(place.track))
        }
        object.add("trackTimeMillis", item.duration)
        object.add("country", storefront.countryCode)
        object.add("currency", storefront.currency)
        object.add("primaryGenreName", item.genres.first?.name)
        object.add("contentAdvisoryRating", Self.advisory(item))
        if item.kind != .song {
            object.add("shortDescription", text.shortDescription)
            object.add("longDescription", text.description)
        } else {
            object.add("isStreamable", false)
        }
    }

    private mutating func collection(_ number: Int64) throws -> Collection? {
        if let known = collections[number] { return known }
        let found = try reading.item(number).map {
            Collection(item: $0, counts: try reading.trackCounts(of: number))
        }
        collections[number] = .some(found)
        return found
    }

    /// The rating of a film or episode, or the word for explicit and edited music.
    private static func advisory(_ item: CatalogItem) -> String? {
        guard item.kind == .song || item.kind == .album else { return item.contentRating }
        return switch item.explicitness {
        case .explicit: "Explicit"
        case .cleaned: "Clean"
        case .notExplicit: nil
        }
    }

    /// Adds a price. A song that is sold only with its album, or an album that is sold only by song, has `-1.00`; one
    /// that is not sold at all has no key.
    private func add(
        _ name: StaticString, _ price: Money?, isSoldOtherwise: @autoclosure () throws -> Bool,
        _ object: inout SearchObject
    ) rethrows {
        if let price {
            object.add(name, price: price)
        } else if try isSoldOtherwise() {
            object.addNoPrice(name)
        }
    }

    // MARK: Albums, seasons and books

    private mutating func collection(_ item: CatalogItem, _ object: inout SearchObject) throws {
        let text = item.text(for: request.languages)
        object.add("wrapperType", "collection")
        object.add("collectionType", item.kind == .album ? "Album" : "TV Season")
        object.add("artistId", item.creator.number)
        object.add("collectionId", item.number)
        object.add("artistName", item.creator.name)
        object.add("collectionName", text.name)
        object.add("collectionCensoredName", text.name)
        object.add("artistViewUrl", creatorLink(item.creator, item.kind))
        object.add("collectionViewUrl", link(item, text.name))
        artwork(item, [60, 100], &object)
        try add(
            "collectionPrice", item.price(in: storefront),
            isSoldOtherwise: reading.sellsContents(of: item.number, in: storefront), &object)
        object.add("collectionExplicitness", item.explicitness.rawValue)
        object.add("contentAdvisoryRating", Self.advisory(item))
        object.add("trackCount", Int64(try collection(item.number)?.counts.values.reduce(0, +) ?? 0))
        object.add("copyright", item.copyright)
        object.add("country", storefront.countryCode)
        object.add("currency", storefront.currency)
        object.add("releaseDate", Self.date(item.releaseDate))
        object.add("primaryGenreName", item.genres.first?.name)
        if item.kind == .season { object.add("longDescription", text.description) }
    }

    private func book(_ item: CatalogItem, _ object: inout SearchObject) {
        let text = item.text(for: request.languages)
        let price = item.price(in: storefront)
        artwork(item, [60, 100], &object)
        object.add("artistViewUrl", creatorLink(item.creator, .book))
        object.add("trackCensoredName", text.name)
        object.add("fileSizeBytes", item.file?.length)
        object.add("formattedPrice", price.map { prices.text($0, in: storefront) })
        object.add("trackViewUrl", link(item, text.name))
        object.add("trackId", item.number)
        object.add("trackName", text.name)
        object.add("releaseDate", Self.date(item.releaseDate))
        object.add("genreIds", item.genres.map { String($0.number) })
        object.add("artistIds", numbers: [item.creator.number])
        object.add("currency", storefront.currency)
        object.add("kind", "ebook")
        object.add("artistId", item.creator.number)
        object.add("artistName", item.creator.name)
        object.add("genres", item.genres.map(\.name))
        object.add("price", price: price)
        object.add("description", text.description ?? "")
        let rating = rating(item, storefront)
        if rating.count > 0 {
            // Ratings of books are in half steps: `4.5`, `4.0`.
            object.add("averageUserRating", json: Array(String((rating.average * 2).rounded() / 2).utf8))
            object.add("userRatingCount", Int64(rating.count))
        }
    }

    // MARK: Links and dates

    /// Every item has artwork addresses, because clients require them. The storefront draws artwork for items without.
    private func artwork(_ item: CatalogItem, _ sizes: [Int], _ object: inout SearchObject) {
        let folder = base + item.anyArtworkAddress(100).folder
        for size in sizes {
            let (name, file): (StaticString, String) =
                switch size {
                case 30: ("artworkUrl30", "30x30bb.jpg")
                case 60: ("artworkUrl60", "60x60bb.jpg")
                case 512: ("artworkUrl512", "512x512bb.jpg")
                default: ("artworkUrl100", "100x100bb.jpg")
                }
            object.add(name, folder, file)
        }
    }

    private func link(_ item: CatalogItem, _ name: String, isMac: Bool = false) -> String {
        origin(ItemLink.link(to: item, name: name, base: base, country: storefront.regionCode), isMac)
    }

    private func creatorLink(_ creator: ItemCreator, _ kind: ItemKind, isMac: Bool = false) -> String {
        origin(ItemLink.link(to: creator, of: kind, base: base, country: storefront.regionCode), isMac)
    }

    /// Adds the parameters that Apple's search adds to its links.
    private func origin(_ link: String, _ isMac: Bool) -> String {
        link + (link.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + (isMac ? "mt=12&uo=4" : "uo=4")
    }

    private static func date(_ milliseconds: Int64) -> String {
        CivilTime(secondsSince1970: milliseconds.flooredQuotient(1000)).description
    }
}

extension ItemVersion {
    /// The notes in the first of the languages that they exist in, or else the first notes.
    public func note(for languages: [String]) -> String? {
        CatalogItem.best(notes, languages, locale: \.locale)?.text
    }
}

extension CatalogItem {
    /// The address of the item's artwork, or of the picture that the storefront draws for an item without artwork.
    public func anyArtworkAddress(_ size: Int) -> ItemImageAddress {
        artworkAddress(size)
            ?? ItemImageAddress(number: number, picture: .artwork, digest: "00000000", width: size, height: size)
    }
}

/// The address of the clip that a page plays: `/preview/NUMBER/NAME`.
public enum ItemPreviewAddress {
    /// The path of an item's preview; nil for an item without one.
    public static func path(of item: CatalogItem) -> String? {
        item.preview.map { "/preview/\(item.number)/\($0.name.percentEncoded)" }
    }

    /// The number in a path; nil when the path has another form.
    public static func number(inPath path: String) -> Int64? {
        let parts = path.split(separator: "/")
        guard parts.count == 3, parts[0] == "preview", let number = Int64(parts[1]), number > 0 else { return nil }
        return number
    }
}

/// The devices that answers name for an app, in Apple's form `NAME-NAME`.
enum SupportedDevices {
    /// The names as a JSON array. It is as long as the rest of an app's object, and there are only four.
    static func json(for platforms: [ItemPlatform]) -> [UInt8] {
        switch (platforms.contains(.iPhone), platforms.contains(.iPad)) {
        case (true, true): all
        case (true, false): onlyPhones
        case (false, true): onlyTablets
        case (false, false): none
        }
    }

    private static let all = SearchObject.json(phones + tablets)
    private static let onlyPhones = SearchObject.json(phones)
    private static let onlyTablets = SearchObject.json(tablets)
    private static let none = SearchObject.json([])

    private static let phones = twice([
        "iPhone5s", "iPhone6", "iPhone6Plus", "iPhone6s", "iPhone6sPlus", "iPhoneSE", "iPhone7", "iPhone7Plus",
        "iPhone8", "iPhone8Plus", "iPhoneX", "iPhoneXS", "iPhoneXSMax", "iPhoneXR", "iPhone11", "iPhone11Pro",
        "iPhone12", "iPhone13", "iPhone14", "iPhone15", "iPhone16",
    ])
    private static let tablets = twice([
        "iPadAir", "iPadMini4", "iPadPro", "iPadSeventhGen", "iPadAir4", "iPadMini6",
    ])

    private static func twice(_ names: [String]) -> [String] { names.map { "\($0)-\($0)" } }
}
