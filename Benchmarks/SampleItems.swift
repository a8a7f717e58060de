import Foundation
import Store
import StoreWire

/// A made-up catalog of any size for 12 storefronts, the same each time. Items are made when they are asked for.
///
/// Of 25 items, one is an album, ten are its songs, ten are apps, two are films and two are books. Titles have 2 to 6
/// words and descriptions 300 bytes, in one language. Seven of ten items are sold in all 12 storefronts only, two in
/// some of these, and one everywhere.
struct SampleItems: RandomAccessCollection, Sendable {
    static let storefronts = ["US", "GB", "DE", "FR", "JP", "CN", "CA", "AU", "BR", "IN", "IT", "ES"]
        .compactMap { Storefront.withRegion($0) }
    private static let countries = Set(storefronts.map(\.countryCode))
    private static let firstNumber: Int64 = 1_400_000_000
    private static let firstCreator: Int64 = 1_300_000_000
    /// Items for one creator, on average. Some creators have a hundred times as many.
    private static let itemsOfCreator = 20
    private static let group = 25

    let count: Int
    private let words = SampleWords()

    init(count: Int) { self.count = count }

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    subscript(index: Int) -> CatalogItem {
        var chance = SampleChance(seed: UInt64(index) &* 0x2545_F491_4F6C_DD1D)
        let place = index % Self.group
        let kind: ItemKind =
            switch place {
            case 0: .album
            case 1...10: .song
            case 11...20: .app
            case 21...22: .film
            default: .book
            }
        let number = Self.firstNumber + Int64(index)
        let name = words.title(2 + Int(chance.next(below: 5)), &chance)
        let description = words.text(300, &chance)
        let released = 1_200_000_000_000 + Int64(chance.next(below: 500_000)) * 1_000_000
        var item = CatalogItem(
            number: number, kind: kind, creator: creator(&chance), genres: Self.genres(kind, &chance),
            texts: [ItemText(locale: "en_US", name: name, description: description)], releaseDate: released,
            artwork: Self.picture(number, "artwork", released), prices: kind == .album ? nil : Self.prices(&chance),
            availability: Self.availability(&chance))
        switch kind {
        case .app: complete(app: &item, released, &chance)
        case .song:
            item.place = ItemPlace(collection: number - Int64(place), track: place)
            item.explicitness = chance.next(below: 10) == 0 ? .explicit : .notExplicit
            item.duration = 120_000 + Int64(chance.next(below: 240_000))
        case .film:
            item.contentRating = "PG-13"
            item.duration = 4_800_000 + Int64(chance.next(below: 3_600_000))
        case .book: item.languages = ["EN"]
        case .album: item.copyright = "℗ 2020 Example Records"
        case .episode, .season: break
        }
        if kind != .album {
            item.file = ItemFile(
                path: "/srv/store/files/\(number)", mediaType: "application/octet-stream",
                length: Int64(chance.next(below: 100_000_000)))
        }
        return item
    }

    private func complete(app item: inout CatalogItem, _ released: Int64, _ chance: inout SampleChance) {
        item.bundleID = BundleID("com.example.app\(item.number)")
        item.platforms = [[.iPhone], [.iPad], [.iPhone, .iPad], [.mac]][Int(chance.next(below: 4))]
        item.versions = (0..<Int64(1 + chance.next(below: 3))).reversed().map { version in
            ItemVersion(
                version: "1.\(version)", releaseDate: released + version * 5_000_000_000,
                notes: version == 0 ? [] : [ItemNote(locale: "en_US", text: words.text(80, &chance))])
        }
        item.screenshots = (0..<3).map { index in
            ItemScreenshot(
                platform: item.platforms[0], picture: Self.picture(item.number, "screen\(index)", released))
        }
        item.contentRating = ["4+", "9+", "12+", "17+"][Int(chance.next(below: 4))]
        item.minimumSystemVersion = "13.0"
        item.languages = ["EN"]
        item.seller = item.creator.name + " Ltd."
    }

    /// Two random numbers make the first creators the most productive ones.
    private func creator(_ chance: inout SampleChance) -> ItemCreator {
        let creators = UInt64(Swift.max(count / Self.itemsOfCreator, 1))
        let number = chance.next(below: chance.next(below: creators) + 1)
        var own = SampleChance(seed: number &+ 0xC0FF_EE00)
        return ItemCreator(
            number: Self.firstCreator + Int64(number), name: words.title(1 + Int(own.next(below: 2)), &own))
    }

    private static func genres(_ kind: ItemKind, _ chance: inout SampleChance) -> [ItemGenre] {
        let (first, names): (Int64, [String]) =
            switch kind {
            case .app: (6000, ["Business", "Weather", "Utilities", "Travel", "Sports", "Games", "Photo & Video"])
            case .song, .album: (2, ["Blues", "Comedy", "Children's Music", "Classical", "Country", "Electronic"])
            case .film, .episode, .season: (4401, ["Action & Adventure", "Anime", "Classics", "Comedy", "Documentary"])
            case .book: (9002, ["Biographies & Memoirs", "Business & Personal Finance", "Fiction & Literature"])
            }
        let index = Int(chance.next(below: UInt64(names.count)))
        return [ItemGenre(number: first + Int64(index), name: names[index])]
    }

    private static func prices(_ chance: inout SampleChance) -> CatalogPrices {
        let amount = Int64(chance.next(below: 10)) * 1_000 - 10
        guard amount > 0 else { return CatalogPrices(amount: 0, byStorefront: [:], byCurrency: [:]) }
        let amounts = storefronts.map { storefront in
            (storefront.countryCode, storefront.currency == "JPY" ? amount * 150 / 1_000 * 1_000 : amount)
        }
        return CatalogPrices(
            amount: amount, byStorefront: Dictionary(amounts, uniquingKeysWith: { first, _ in first }), byCurrency: [:])
    }

    private static func availability(_ chance: inout SampleChance) -> CatalogAvailability {
        switch chance.next(below: 10) {
        case 0: return .everywhere
        case 1...2:
            let some = storefronts.filter { _ in chance.next(below: 2) == 0 }
            return .only(Set((some.isEmpty ? [.unitedStates] : some).map(\.countryCode)))
        default: return .only(countries)
        }
    }

    private static func picture(_ number: Int64, _ name: String, _ modified: Int64) -> ItemPicture {
        ItemPicture(path: "/srv/store/pictures/\(number)-\(name).png", width: 1024, height: 1024, modified: modified)
    }
}

extension SampleItems {
    /// The first items as a catalog in our own format, without their files and pictures.
    func yaml() -> String {
        var text = "cornerstore-catalog: 1\nitems:\n"
        for item in self {
            text += """
                - number: \(item.number)
                  kind: \(item.kind.rawValue)
                  creator: {number: \(item.creator.number), name: \(item.creator.name)}
                  genres: [{number: \(item.genres[0].number), name: "\(item.genres[0].name)"}]
                  texts: [{locale: en_US, name: "\(item.texts[0].name)", description: "\(item.texts[0].description ?? "")"}]
                  releaseDate: 2026-01-15\n
                """
            if let prices = item.prices {
                let amounts = prices.byStorefront.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value / 1000)" }
                text += "  displayPrice: \(prices.amount / 1000)\n  prices: {\(amounts.joined(separator: ", "))}\n"
            }
            if case .only(let countries) = item.availability {
                text += "  availability: {only: [\(countries.sorted().joined(separator: ", "))]}\n"
            }
            if item.kind == .app {
                text += "  bundleID: \(item.bundleID?.rawValue ?? "")\n"
                text += "  platforms: [\(item.platforms.map(\.rawValue).joined(separator: ", "))]\n"
                text += "  versions: [{version: \"1.0\", releaseDate: 2026-01-15}]\n"
            }
        }
        return text
    }
}
