import ConsolePages
import CornerstoreEncoding
import Foundation
import Store
import StoreWire

/// Makes the storefront's pages from the index and the catalog.
public struct ItemPages: Sendable {
    let index: CurrentItemIndex
    let catalog: CurrentCatalog
    let templates: PageTemplates
    let prices: ItemPriceText
    let rating: @Sendable (CatalogItem, Storefront) -> ItemRating

    /// Creates a maker of pages.
    /// - Parameter rating: the ratings of an item in a storefront.
    public init(
        index: CurrentItemIndex, catalog: CurrentCatalog, templates: PageTemplates, prices: ItemPriceText,
        rating: @escaping @Sendable (CatalogItem, Storefront) -> ItemRating
    ) {
        self.index = index
        self.catalog = catalog
        self.templates = templates
        self.prices = prices
        self.rating = rating
    }

    /// The most tiles of other items on an item's page, and of songs or episodes.
    private static let (mostTiles, mostContents) = (12, 500)
    /// The most in-app purchases on an app's page.
    private static let mostPurchases = 20
    /// The number of items on a page of a list.
    static let listed = 48

    // MARK: Pages

    /// The page of an item.
    /// - Parameter promoted: the in-app purchase to show first, if the app has it.
    /// - Throws: `SQLiteError` when the index cannot be read.
    func page(
        of item: CatalogItem, in storefront: Storefront, promoted: ProductID? = nil, isInApp: Bool = false
    ) throws -> ItemPage {
        let index = index.value
        let languages = Self.languages(storefront)
        let text = item.text(for: languages)
        let collection = try item.place.flatMap { try index.item($0.collection) }
        let versions = item.versions.map { version in
            let date = Self.date(version.releaseDate)
            return PageVersion(
                version: version.version, date: date.date, dateText: date.dateText, note: version.note(for: languages))
        }
        let preview = ItemPreviewAddress.path(of: item)
        let isAudio = item.preview?.mediaType.hasPrefix("audio/") == true
        let more = try index.items(
            of: item.creator.number, kinds: Set(ItemKind.allCases), in: storefront, newestFirst: true,
            limit: Self.mostTiles + 1)
        let related = try index.items(Array(item.relatedItems.prefix(Self.mostTiles)))
        return ItemPage(
            frame: frame(
                text.name, about: text.shortDescription ?? text.description, storefront, isInApp: isInApp),
            artwork: item.anyArtworkAddress(200).path, largeArtwork: item.anyArtworkAddress(400).path, name: text.name,
            creator: item.creator.name, creatorLink: link(item.creator, item.kind, storefront),
            kind: Self.word(item), genre: item.genres.first?.name,
            collection: collection.map { PageLink(name: $0.text(for: languages).name, link: link($0, storefront)) },
            rating: Self.rating(rating(item, storefront)), price: price(item, storefront),
            audio: isAudio ? preview : nil,
            video: isAudio ? nil : preview.map { PageVideo(link: $0, poster: item.anyArtworkAddress(640).path) },
            screenshots: Self.screenshots(item), description: text.description,
            contentsTitle: item.kind == .album ? "Songs" : "Episodes",
            contents: item.kind.isCollection ? try contents(item, storefront, index) : [],
            versions: Array(versions.prefix(1)), olderVersions: Array(versions.dropFirst()),
            purchases: purchases(item, storefront, promoted),
            facts: facts(item, storefront),
            more: more.filter { $0.number != item.number }.prefix(Self.mostTiles).map { tile($0, storefront) },
            related: related.filter { $0.availability.includes(storefront) }.map { tile($0, storefront) })
    }

    /// The page of a creator's items; nil when no item that the storefront shows has this creator.
    func page(ofCreator number: Int64, in storefront: Storefront) throws -> ItemsPage? {
        guard let (creator, _) = try index.value.creator(number) else { return nil }
        let items = try index.value.items(
            of: number, kinds: Set(ItemKind.allCases), in: storefront, newestFirst: true, limit: 200)
        guard !items.isEmpty else { return nil }
        return ItemsPage(
            frame: frame(creator.name, storefront), heading: creator.name, items: items.map { tile($0, storefront) },
            nothing: "", next: nil)
    }

    /// The page of a search's results; without a term, the first page of the storefront.
    func page(finding term: String, from offset: Int, in storefront: Storefront) throws -> ItemsPage {
        let search = ItemSearch(
            term: term, storefront: storefront, kinds: Set(ItemKind.allCases), offset: offset, limit: Self.listed + 1)
        let index = index.value
        let found = try term.isEmpty ? index.newest(in: storefront, limit: Self.listed) : index.items(search)
        let more = found.count > Self.listed
        let query = "/find?term=\(term.percentEncoded)&offset=\(offset + Self.listed)"
        return ItemsPage(
            frame: frame(term.isEmpty ? "Store" : "Search: \(term)", term: term, storefront),
            heading: term.isEmpty ? "New in the store" : "Results for “\(term)”",
            items: found.prefix(Self.listed).map { tile($0, storefront) },
            nothing: term.isEmpty
                ? "The catalog has no items. Add “items:” to a YAML catalog; see Documentation/Catalog.md."
                : "No item of this storefront has these words.",
            next: more ? Self.start(storefront) + query : nil)
    }

    /// The page about an item that the storefront does not show.
    func missingPage(_ text: String, in storefront: Storefront) -> NotePage {
        NotePage(frame: frame("Not found", storefront), heading: "Not found", text: text)
    }

    // MARK: Parts

    func frame(
        _ title: String, about: String? = nil, term: String = "", _ storefront: Storefront, isInApp: Bool = false
    ) -> StoreFrame {
        StoreFrame(
            title: title, about: about.map { String($0.prefix(200)) }, stylesheet: templates.stylesheet.path,
            homeLink: isInApp ? nil : Self.start(storefront),
            findLink: isInApp ? nil : Self.start(storefront) + "/find",
            subscriptionsLink: isInApp ? nil : SubscriptionsController.start,
            term: term, country: storefront.countryCode, opensAside: isInApp)
    }

    private static func start(_ storefront: Storefront) -> String { "/" + storefront.regionCode.lowercased() }

    static func languages(_ storefront: Storefront) -> [String] {
        ["\(storefront.language)_\(storefront.regionCode)"]
    }

    private func link(_ item: CatalogItem, _ storefront: Storefront) -> String {
        let name = item.text(for: Self.languages(storefront)).name
        return ItemLink.link(to: item, name: name, base: "", country: storefront.regionCode)
    }

    private func link(_ creator: ItemCreator, _ kind: ItemKind, _ storefront: Storefront) -> String {
        ItemLink.link(to: creator, of: kind, base: "", country: storefront.regionCode)
    }

    func price(_ item: CatalogItem, _ storefront: Storefront) -> String? {
        item.price(in: storefront).map { prices.text($0, in: storefront) }
    }

    private func tile(_ item: CatalogItem, _ storefront: Storefront) -> PageTile {
        PageTile(
            link: link(item, storefront), artwork: item.anyArtworkAddress(192).path,
            name: item.text(for: Self.languages(storefront)).name, by: item.creator.name,
            price: price(item, storefront))
    }

    private func contents(
        _ item: CatalogItem, _ storefront: Storefront, _ index: ItemIndex
    ) throws -> [PageTrack] {
        let tracks = try index.contents(of: item.number).filter { $0.availability.includes(storefront) }
        let hasDiscs = tracks.contains { ($0.place?.disc ?? 1) > 1 }
        return tracks.prefix(Self.mostContents).map { track in
            let place = track.place.map { hasDiscs ? "\($0.disc)–\($0.track)" : "\($0.track)" }
            return PageTrack(
                number: place ?? "", name: track.text(for: Self.languages(storefront)).name,
                link: link(track, storefront), duration: track.duration.map(Self.duration) ?? "",
                price: price(track, storefront) ?? "")
        }
    }

    /// The app's in-app purchases that the storefront sells, the promoted one first.
    private func purchases(
        _ item: CatalogItem, _ storefront: Storefront, _ promoted: ProductID?
    ) -> [PagePurchase] {
        guard let app = item.bundleID.flatMap({ catalog.value.app($0) }) else { return [] }
        let sold = app.products.filter { $0.price(in: storefront) != nil }
        let ordered = sold.filter { $0.productID == promoted } + sold.filter { $0.productID != promoted }
        return ordered.prefix(Self.mostPurchases).compactMap { product in
            guard let price = product.price(in: storefront) else { return nil }
            let words = app.words(for: product, in: storefront)
            return PagePurchase(
                name: words?.displayName ?? product.referenceName ?? product.productID.rawValue,
                price: prices.text(price, in: storefront), text: words?.description,
                isPromoted: product.productID == promoted)
        }
    }

    private func facts(_ item: CatalogItem, _ storefront: Storefront) -> [PageFact] {
        var facts: [PageFact] = []
        func add(_ name: String, _ value: String?, _ link: String? = nil) {
            if let value, !value.isEmpty { facts.append(PageFact(name: name, value: value, link: link)) }
        }
        add("Seller", item.seller ?? item.creator.name, item.sellerURL)
        add("Released", Self.date(item.releaseDate).dateText)
        add("Size", item.file.map { Self.size($0.length) })
        add("Length", item.duration.map(Self.duration))
        add("Genres", item.genres.map(\.name).joined(separator: ", "))
        add("Compatibility", Self.compatibility(item))
        add("Languages", item.languages.joined(separator: ", "))
        add("Age rating", ([item.contentRating].compactMap { $0 } + item.advisories).joined(separator: ", "))
        if item.explicitness != .notExplicit {
            add("Words", item.explicitness == .explicit ? "Explicit" : "Edited of an explicit version")
        }
        add("Copyright", item.copyright)
        add("Support", item.supportURL, item.supportURL)
        add("Number", String(item.number))
        return facts
    }

    private static func screenshots(_ item: CatalogItem) -> [PageScreenshot] {
        item.screenshots.enumerated().map { index, screenshot in
            var address = ItemImageAddress(
                number: item.number, picture: .screenshot(index), digest: screenshot.picture.digest, width: 640,
                height: 640)
            let (width, height) = (max(screenshot.picture.width, 1), max(screenshot.picture.height, 1))
            (address.width, address.height) = (min(width, 640), min(height, 640))
            let kind =
                switch screenshot.platform {
                case .iPhone: "iPhone"
                case .iPad: "iPad"
                case .mac: "Mac"
                }
            return PageScreenshot(
                link: address.path, label: "Screenshot \(index + 1), \(kind)", width: width, height: height)
        }
    }

    // MARK: Reviews

    /// The number of reviews on a page.
    static let reviewsShown = 20

    static func review(_ review: Review) -> PageReview? {
        guard let words = review.words else { return nil }
        let date = date(review.editedAt)
        let answer = review.answer.map { answer in
            let date = Self.date(answer.date)
            return PageAnswer(date: date.date, dateText: date.dateText, text: answer.text)
        }
        return PageReview(
            stars: review.stars, starsText: stars(Double(review.stars)), title: words.title, text: words.text,
            date: date.date, dateText: date.dateText, version: review.version, answer: answer)
    }

    // MARK: Words

    private static func word(_ item: CatalogItem) -> String {
        switch item.kind {
        case .app: item.platforms == [.mac] ? "Mac app" : "App"
        case .song: "Song"
        case .album: "Album"
        case .film: "Film"
        case .episode: "Episode"
        case .season: "Season"
        case .book: "Book"
        }
    }

    private static func compatibility(_ item: CatalogItem) -> String? {
        guard item.kind == .app else { return nil }
        let names = item.platforms.map { platform in
            switch platform {
            case .iPhone: "iPhone"
            case .iPad: "iPad"
            case .mac: "Mac"
            }
        }
        return names.joined(separator: ", ") + (item.minimumSystemVersion.map { ", version \($0) or later" } ?? "")
    }

    static func duration(_ milliseconds: Int64) -> String {
        let seconds = max(milliseconds, 0) / 1000
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
    }

    /// A length in the units of the App Store: multiples of 1,000 bytes.
    static func size(_ bytes: Int64) -> String {
        for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")] as [(Int64, String)]
        where bytes >= unit {
            let tenths = (bytes * 10 + unit / 2) / unit
            return tenths >= 100 || tenths % 10 == 0
                ? "\((tenths + 5) / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
        }
        return "\(bytes) bytes"
    }

    static func date(_ milliseconds: Int64) -> PageDate {
        let time = CivilTime(secondsSince1970: milliseconds.flooredQuotient(1000))
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        let name = months.indices.contains(time.month - 1) ? months[time.month - 1] : ""
        return PageDate(date: String(time.description.prefix(10)), dateText: "\(time.day) \(name) \(time.year)")
    }

    static func stars(_ average: Double) -> String {
        let full = min(max(Int(average.rounded()), 0), 5)
        return String(repeating: "★", count: full) + String(repeating: "☆", count: 5 - full)
    }

    private static func rating(_ rating: ItemRating) -> PageRating? {
        guard rating.count > 0 else { return nil }
        let tenths = Int((rating.average * 10).rounded())
        let most = max(rating.histogram.max() ?? 1, 1)
        return PageRating(
            average: "\(tenths / 10).\(tenths % 10)", starsText: stars(rating.average),
            countText: rating.count == 1 ? "1 rating" : "\(rating.count) ratings",
            bars: rating.histogram.enumerated().reversed().map { PageBar(stars: $0 + 1, count: $1, most: most) })
    }
}

extension ItemPage {
    /// Shows up to a page of reviews.
    /// - Parameters:
    ///   - found: one more than are shown, if there are more.
    ///   - link: makes the address of the page with the reviews after a place.
    mutating func show(_ found: [Review], link: (ReviewCursor) -> String) {
        let shown = found.prefix(ItemPages.reviewsShown)
        reviews = shown.compactMap { ItemPages.review($0) }
        moreReviews = found.count > shown.count ? shown.last.map { link($0.cursor) } : nil
    }
}
