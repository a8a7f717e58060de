import Foundation
import StoreWire

/// Writes the rows of items: a part of each table that has a row for an item.
final class FeedItems {
    private let base: String
    private let rows: [String: FeedRows]
    /// Nil when the order has no layout with tables.
    private let tables: Tables?
    private let flat: FeedFlatItems?
    private let names: CollectionNames
    private let storefronts: [(storefront: Storefront, number: Int64, hasWholePrices: Bool)]
    /// The positions of storefronts by their country codes.
    private let positions: [String: Int]
    /// The genres of the items so far, by number.
    private(set) var genres: [Int64: String] = [:]
    /// The number of prices that no row can hold.
    private(set) var pricesLeftOut = 0

    /// The parts of the tables, looked up once.
    private struct Tables {
        let application, applicationDetail, applicationDeviceType, artistApplication, genreApplication: FeedRows
        let applicationPrice, song, collection, video, collectionSong, collectionVideo, artistSong: FeedRows
        let artistCollection, artistVideo, genreCollection, genreVideo, songPrice, collectionPrice, videoPrice: FeedRows

        init(_ open: (FeedTable) throws -> FeedRows) throws {
            application = try open(.application)
            applicationDetail = try open(.applicationDetail)
            applicationDeviceType = try open(.applicationDeviceType)
            artistApplication = try open(.artistApplication)
            genreApplication = try open(.genreApplication)
            applicationPrice = try open(.applicationPrice)
            song = try open(.song)
            collection = try open(.collection)
            video = try open(.video)
            collectionSong = try open(.collectionSong)
            collectionVideo = try open(.collectionVideo)
            artistSong = try open(.artistSong)
            artistCollection = try open(.artistCollection)
            artistVideo = try open(.artistVideo)
            genreCollection = try open(.genreCollection)
            genreVideo = try open(.genreVideo)
            songPrice = try open(.songPrice)
            collectionPrice = try open(.collectionPrice)
            videoPrice = try open(.videoPrice)
        }
    }

    /// - Parameters:
    ///   - open: creates a part of a table.
    ///   - reader: looks up the names of albums and seasons.
    init(
        _ order: FeedOrder, reader: ItemIndex.Reader,
        open: (_ table: FeedTable, _ grammar: FeedGrammar) throws -> FeedRows
    ) throws {
        base = order.base
        names = CollectionNames(reader)
        storefronts = Storefront.all.map { ($0, Int64($0.identifier) ?? 0, FeedRows.isWhole($0.currency)) }
        positions = Dictionary(
            Storefront.all.enumerated().map { ($1.countryCode, $0) }, uniquingKeysWith: { first, _ in first })
        var rows: [String: FeedRows] = [:]
        tables =
            order.hasTables
            ? try Tables { table in
                let part = try open(table, .relational)
                rows[table.name] = part
                return part
            } : nil
        flat =
            order.layouts.contains(.flat)
            ? try FeedFlatItems(order) { table in
                let part = try open(table, .flat)
                rows[table.name] = part
                return part
            } : nil
        self.rows = rows
    }

    /// Ends all parts, by the names of their tables.
    func finish() throws -> [String: FeedPart] { try rows.mapValues { try $0.finish() } }

    /// Writes all rows of an item.
    func write(_ item: CatalogItem) throws {
        for genre in item.genres where genres[genre.number] == nil { genres[genre.number] = genre.name }
        if let tables {
            switch item.kind {
            case .app: try app(item, tables)
            case .song: try song(item, tables)
            case .album, .season: try collection(item, tables)
            case .film, .episode: try video(item, tables)
            // The feed's table for books is not known.
            case .book: break
            }
        }
        try flat?.write(item)
    }

    // MARK: Apps

    private func app(_ item: CatalogItem, _ tables: Tables) throws {
        let text = item.texts.first
        let version = item.versions.first
        var row = tables.application
        row.add(item.number)
        row.add(text?.name)
        row.add(item.contentRating ?? "4+")
        row.add(item.creator.name)
        row.add(item.seller ?? item.creator.name)
        row.add(item.sellerURL)
        row.add(item.supportURL)
        row.add(link(item))
        row.add(base + item.anyArtworkAddress(100).path)
        row.add(base + item.anyArtworkAddress(60).path)
        row.addDay(item.releaseDate)
        row.add(item.copyright)
        row.add(text?.description)
        row.add(version?.version)
        // A number that is higher for each later version.
        row.add((version?.releaseDate ?? item.releaseDate) / 1000)
        row.add(item.file?.length)
        try row.end()

        row = tables.applicationDetail
        for (code, text) in Self.languages(item.texts) {
            row.add(item.number)
            row.add(code)
            row.add(text.name)
            row.add(text.description)
            row.add(version?.note(for: [text.locale]))
            row.add(item.sellerURL)
            row.add(item.supportURL)
            let isMac = !item.platforms.contains { $0 != .mac }
            screenshots(item, isMac ? .mac : .iPhone, row)
            screenshots(item, .iPad, row)
            try row.end()
        }
        for platform in item.platforms {
            tables.applicationDeviceType.add(item.number)
            tables.applicationDeviceType.add(FeedConstants.device(platform))
            try tables.applicationDeviceType.end()
        }
        try pair(item.creator.number, item.number, tables.artistApplication)
        try genres(item, tables.genreApplication)
        try prices(item, tables.applicationPrice, nulls: 0)
    }

    private func screenshots(_ item: CatalogItem, _ platform: ItemPlatform, _ row: FeedRows) {
        let shown = item.screenshots.isEmpty ? [] : item.screenshotAddresses(platform).prefix(4)
        for address in shown { row.add(base + address.path) }
        row.addNull(4 - shown.count)
        for address in shown { row.add("\(address.width)x\(address.height ?? address.width)") }
        row.addNull(4 - shown.count)
    }

    /// Texts with language codes that are unlike, because they are a part of the key: `EN`, and `EN-GB` for the second
    /// text of a language.
    static func languages(_ texts: [ItemText]) -> [(code: String, text: ItemText)] {
        var codes: Set<String> = []
        return texts.compactMap { text in
            let tag = text.locale.uppercased().replacing("_", with: "-")
            let language = String(tag.prefix { $0 != "-" })
            let code = codes.contains(language) ? tag : language
            return codes.insert(code).inserted ? (code, text) : nil
        }
    }

    // MARK: Songs, collections and videos

    private func song(_ item: CatalogItem, _ tables: Tables) throws {
        let row = tables.song
        row.add(item.number)
        row.add(item.texts.first?.name)
        row.addNull(2)
        row.add(FeedConstants.advisory(item.explicitness))
        row.add(item.creator.name)
        row.add(try item.place.flatMap { try names[$0.collection] })
        row.add(link(item))
        row.addDay(item.releaseDate)
        row.addDay(item.releaseDate)
        row.add(item.duration)
        row.add(item.copyright)
        row.addNull()
        row.add(ItemPreviewAddress.path(of: item).map { base + $0 })
        row.addNull()
        try row.end()
        try pair(item.creator.number, item.number, tables.artistSong)
        if let place = item.place {
            let row = tables.collectionSong
            row.add(place.collection)
            row.add(item.number)
            row.add(true)
            row.add(place.track)
            row.add(place.disc)
            row.add(false)
            try row.end()
        }
        try prices(item, tables.songPrice, nulls: 2)
    }

    private func collection(_ item: CatalogItem, _ tables: Tables) throws {
        let row = tables.collection
        row.add(item.number)
        row.add(item.texts.first?.name)
        row.addNull(2)
        row.add(FeedConstants.advisory(item.explicitness))
        row.add(item.creator.name)
        row.add(link(item))
        row.add(base + item.anyArtworkAddress(100).path)
        row.addDay(item.releaseDate)
        row.addDay(item.releaseDate)
        row.addNull()
        row.add(item.seller)
        row.add(item.copyright)
        row.addNull()
        row.add(FeedConstants.media(item.kind))
        row.add(false)
        row.add(item.kind == .album ? FeedConstants.album : FeedConstants.season)
        try row.end()
        try artist(item, tables.artistCollection)
        try genres(item, tables.genreCollection)
        try prices(item, tables.collectionPrice, nulls: 3)
    }

    private func video(_ item: CatalogItem, _ tables: Tables) throws {
        let row = tables.video
        let text = item.texts.first
        row.add(item.number)
        row.add(text?.name)
        row.addNull(2)
        row.add(FeedConstants.advisory(item.explicitness))
        row.add(item.creator.name)
        row.add(try item.place.flatMap { try names[$0.collection] })
        row.add(FeedConstants.media(item.kind))
        row.add(link(item))
        row.add(base + item.anyArtworkAddress(100).path)
        row.addDay(item.releaseDate)
        row.addDay(item.releaseDate)
        row.addNull(2)
        row.add(item.seller)
        row.add(item.duration)
        row.add(item.copyright)
        row.addNull()
        row.add(text?.shortDescription)
        row.add(text?.description)
        row.addNull()
        try row.end()
        try artist(item, tables.artistVideo)
        try genres(item, tables.genreVideo)
        if let place = item.place {
            let row = tables.collectionVideo
            row.add(place.collection)
            row.add(item.number)
            row.add(place.track)
            row.add(place.disc)
            row.add(false)
            try row.end()
        }
        try prices(item, tables.videoPrice, nulls: 7)
    }

    // MARK: Rows of several kinds

    private func link(_ item: CatalogItem) -> String {
        FeedConstants.origin(ItemLink.link(to: item, base: base, country: nil))
    }

    private func pair(_ first: Int64, _ second: Int64, _ row: FeedRows) throws {
        row.add(first)
        row.add(second)
        try row.end()
    }

    private func artist(_ item: CatalogItem, _ row: FeedRows) throws {
        row.add(item.creator.number)
        row.add(item.number)
        row.add(true)
        row.add(FeedConstants.role(item.kind))
        try row.end()
    }

    private func genres(_ item: CatalogItem, _ row: FeedRows) throws {
        var seen: [Int64] = []
        for genre in item.genres where !seen.contains(genre.number) {
            row.add(genre.number)
            row.add(item.number)
            row.add(seen.isEmpty)
            try row.end()
            seen.append(genre.number)
        }
    }

    /// The positions of the storefronts that sell an item. To ask for each storefront takes longer than all rows.
    private func places(_ availability: CatalogAvailability) -> [Int] {
        switch availability {
        case .everywhere: return Array(storefronts.indices)
        case .only(let countries): return countries.compactMap { positions[$0] }.sorted()
        case .except(let countries):
            let left = Set(countries.compactMap { positions[$0] })
            return storefronts.indices.filter { !left.contains($0) }
        }
    }

    /// - Parameter nulls: the number of columns after the storefront, which are for other ways of selling.
    private func prices(_ item: CatalogItem, _ row: FeedRows, nulls: Int) throws {
        guard let prices = item.prices else { return }
        // Most rows of a feed are prices, and most items have one amount for all storefronts.
        let hasOneAmount = prices.byStorefront.isEmpty && prices.byCurrency.isEmpty
        for index in places(item.availability) {
            let (storefront, number, hasWholePrices) = storefronts[index]
            let amount = hasOneAmount ? prices.amount : prices.price(in: storefront).milliunits
            guard amount <= FeedRows.highestPrice else {
                pricesLeftOut += 1
                continue
            }
            row.add(item.number)
            row.addPrice(amount, isWhole: hasWholePrices)
            row.add(storefront.currency)
            row.add(number)
            row.addNull(nulls)
            try row.end()
        }
    }
}

/// The names of the albums and seasons that were looked up last.
private final class CollectionNames {
    private let reader: ItemIndex.Reader
    private var known: [Int64: String] = [:]

    init(_ reader: ItemIndex.Reader) { self.reader = reader }

    subscript(number: Int64) -> String? {
        get throws {
            if let name = known[number] { return name }
            guard let name = try reader.item(number)?.texts.first?.name else { return nil }
            if known.count >= 1024 { known.removeAll(keepingCapacity: true) }
            known[number] = name
            return name
        }
    }
}
