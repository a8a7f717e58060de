/// The flat feed's files: one for each storefront and medium. Their columns are our own, because Apple's are not known
/// for most media.
final class FeedFlatItems {
    /// The media, in the names of the files, and the kinds of items.
    enum Medium: String, CaseIterable {
        case application
        case ebook
        case album
        case song
        case movie
        case tvEpisode
        case tvSeason

        init(_ kind: ItemKind) {
            self =
                switch kind {
                case .app: .application
                case .book: .ebook
                case .album: .album
                case .song: .song
                case .film: .movie
                case .episode: .tvEpisode
                case .season: .tvSeason
                }
        }
    }

    private let base: String
    private var files: [(storefront: Storefront, media: [Medium: FeedRows])] = []

    init(_ order: FeedOrder, open: (FeedTable) throws -> FeedRows) throws {
        base = order.base
        for storefront in order.countries {
            var media: [Medium: FeedRows] = [:]
            for medium in Medium.allCases { media[medium] = try open(.flat(medium, storefront)) }
            files.append((storefront, media))
        }
    }

    func write(_ item: CatalogItem) throws {
        let text = item.texts.first
        let medium = Medium(item.kind)
        for file in files where item.availability.includes(file.storefront) {
            guard let row = file.media[medium] else { continue }
            let country = file.storefront.regionCode
            row.add(item.number)
            row.add(text?.name)
            row.add(item.creator.number)
            row.add(item.creator.name)
            row.add(item.place?.collection)
            row.add(item.genres.first?.number)
            row.add(item.genres.first?.name)
            if let price = item.price(in: file.storefront), price.milliunits <= FeedRows.highestPrice {
                row.add(price)
                row.add(price.currency)
            } else {
                row.addNull(2)
            }
            row.add(FeedConstants.origin(ItemLink.link(to: item, base: base, country: country)))
            row.add(base + item.anyArtworkAddress(100).path)
            row.addDay(item.releaseDate)
            row.add(item.contentRating)
            row.add(item.copyright)
            row.add(text?.description)
            try row.end()
        }
    }
}

extension FeedTable {
    /// The table of a medium in a storefront: `tvEpisode-usa`.
    static func flat(_ medium: FeedFlatItems.Medium, _ storefront: Storefront) -> FeedTable {
        FeedTable(
            .itunes, "\(medium.rawValue)-\(storefront.countryCode.lowercased())", key: "item_id",
            """
            item_id BIGINT, name VARCHAR(1000), artist_id BIGINT, artist_name VARCHAR(1000), collection_id BIGINT
            genre_id INTEGER, genre VARCHAR(200), retail_price DECIMAL(9.3), currency_code VARCHAR(20)
            view_url VARCHAR(1000), artwork_url VARCHAR(1000), release_date DATETIME, content_rating VARCHAR(20)
            copyright VARCHAR(4000), description LONGTEXT
            """)
    }
}
