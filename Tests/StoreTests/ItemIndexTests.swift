import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct ItemIndexTests {
    /// Builds an index of the items, and opens it.
    private func with(_ items: [CatalogItem], _ body: (ItemIndex) throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appendingPathComponent("index")
            try ItemIndex.build(items, at: file)
            try body(try ItemIndex.open(at: file))
        }
    }

    private func search(
        _ term: String, _ kinds: Set<ItemKind> = Set(ItemKind.allCases), in country: String = "USA",
        field: ItemSearch.Field = .all, explicit: Bool = true, platforms: Set<ItemPlatform>? = nil, offset: Int = 0,
        limit: Int = 50
    ) throws -> ItemSearch {
        ItemSearch(
            term: term, storefront: try #require(Storefront.named(country)), kinds: kinds, platforms: platforms,
            field: field, includesExplicit: explicit, offset: offset, limit: limit)
    }

    /// An item in which every field has a value of its own.
    private static let full = CatalogItem(
        number: 77, kind: .episode, bundleID: "com.example.full", platforms: [.mac, .iPad],
        creator: ItemCreator(number: -5, name: "Créateur"), seller: "Seller", sellerURL: "https://seller.example",
        supportURL: "https://support.example",
        genres: [ItemGenre(number: 6014, name: "Games"), ItemGenre(number: 7001, name: "Action")],
        texts: [
            ItemText(locale: "en", name: "Name", description: "Text\n\0", shortDescription: ""),
            ItemText(locale: "ja", name: "名前"),
        ],
        versions: [
            ItemVersion(version: "1.1", releaseDate: 2, notes: [ItemNote(locale: "en", text: "New")]),
            ItemVersion(version: "1.0", releaseDate: 1),
        ],
        releaseDate: -3_000_000_000_000, artwork: ItemPicture(path: "/a.png", width: 1, height: 2, modified: 7),
        screenshots: [
            ItemScreenshot(platform: .mac, picture: ItemPicture(path: "/s.png", width: 3, height: 4, modified: 7))
        ],
        preview: ItemFile(path: "/p.wav", mediaType: "audio/wav", length: 5),
        file: ItemFile(path: "/f.wav", mediaType: "audio/wav", length: .max),
        prices: CatalogPrices(amount: 990, byStorefront: ["JPN": 120_000, "DEU": 1], byCurrency: ["EUR": 1090]),
        availability: .except(["FRA", "DEU"]), contentRating: "TV-14", advisories: ["One", "Two"],
        explicitness: .cleaned, minimumSystemVersion: "13.0", languages: ["EN", "JA"], relatedItems: [1, .max],
        copyright: "℗ 2020", place: ItemPlace(collection: 70, disc: 2, track: 9), duration: 1_234)

    @Test func anItemIsReadBackAsItWas() async throws {
        // A field that the sample leaves at its default would not be tested.
        let bare = Mirror(reflecting: ItemSamples.item(1, .app, "Other")).children
        for (one, other) in zip(Mirror(reflecting: Self.full).children, bare) {
            #expect("\(one.value)" != "\(other.value)", "\(one.label ?? "")")
        }
        let items = [Self.full, ItemSamples.item(78, .book, "")]
        try await with(items) { index throws in
            #expect(try index.items([78, 1, 77]) == [items[1], items[0]])
            #expect(try index.item(bundleID: "com.example.full") == Self.full)
            #expect(try index.item(bundleID: "com.example.other") == nil)
            #expect(try index.count() == 2)
        }
    }

    @Test func damagedBytesAreNoItem() throws {
        let bytes = CatalogItemCoding.bytes(of: Self.full)
        for count in 0..<bytes.count {
            #expect(throws: CatalogItemCoding.Damaged.self) { try CatalogItemCoding.item(Array(bytes.prefix(count))) }
        }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            var changed = bytes
            changed[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            _ = try? CatalogItemCoding.item(changed)
        }
    }

    @Test func creatorsAndCollectionsHaveTheirItems() async throws {
        var items = (1...6).map { ItemSamples.item(Int64($0), $0 == 1 ? .album : .song, "Track \($0)") }
        for index in 1..<6 {
            items[index].place = ItemPlace(collection: 1, disc: index < 4 ? 2 : 1, track: 9 - index)
            items[index].releaseDate += Int64(index) * 1_000
        }
        items[4].availability = .only(["DEU"])
        try await with(items) { index throws in
            #expect(try index.contents(of: 1).map(\.number) == [6, 5, 4, 3, 2])
            #expect(try index.trackCounts(of: 1) == [1: 2, 2: 3])
            #expect(try index.items(of: 900, kinds: [.song], limit: 3).map(\.number) == [2, 3, 4])
            #expect(
                try index.items(of: 900, kinds: [.song], in: .unitedStates, newestFirst: true, limit: 3).map(\.number)
                    == [6, 4, 3])
            // The second time, the index remembers the storefront's newest.
            for _ in 1...2 { #expect(try index.newest(in: .unitedStates, limit: 3).map(\.number) == [6, 4, 3]) }
            let germany = try #require(Storefront.named("DEU"))
            for _ in 1...2 { #expect(try index.newest(in: germany, limit: 2).map(\.number) == [6, 5]) }
            #expect(try index.newest(in: germany, limit: 3).map(\.number) == [6, 5, 4])
            #expect(try index.creator(900)?.creator.name == "Example Works")
            #expect(try index.creator(901) == nil)
        }
    }

    // MARK: Search

    @Test func exactNamesComeFirst() async throws {
        var described = ItemSamples.item(1, .app, "Other")
        described.texts[0].description = "Edits a photo with filters."
        var created = ItemSamples.item(2, .app, "Filters")
        created.creator = ItemCreator(number: 5, name: "Photo Company")
        let items = [
            described, created, ItemSamples.item(3, .app, "Filters for a Photo"),
            ItemSamples.item(4, .app, "Photo Filters Pro"), ItemSamples.item(5, .app, "PHOTO   Filters!"),
            ItemSamples.item(6, .app, "Photo Filterscope"), ItemSamples.item(7, .app, "Photo"),
        ]
        try await with(items) { index throws in
            #expect(try index.search(search("photo filters")) == [5, 4, 6, 3, 2, 1])
            #expect(try index.search(search("photo filters", field: .name)) == [5, 4, 6, 3])
            #expect(try index.search(search("photo", field: .creator)) == [2])
            for offset in 0..<7 {
                let page = try index.search(search("photo filters", offset: offset, limit: 1))
                #expect(page == Array([5, 4, 6, 3, 2, 1].dropFirst(offset).prefix(1)))
            }
            #expect(try index.search(search("photo filters", offset: 10_000)) == [])
        }
    }

    @Test func everyLanguageIsFound() async throws {
        let names = [
            "東京の音楽", "愛", "한국 노래", "เพลงไทย", "Здравствуй, мир", "مرحبا بالعالم", "Café Crème", "ÉTUDE", "हिन्दी गीत", "ガラス",
            "音楽",
        ]
        let items = names.enumerated().map { ItemSamples.item(Int64($0 + 1), .song, $1) }
        try await with(items) { index throws in
            for (term, numbers) in [
                ("音楽", [11, 1]), ("東京", [1]), ("京", [1]), ("愛", [2]), ("노래", [3]), ("ไทย", [4]), ("мир", [5]),
                ("مَرْحَبًا", [6]),
                ("cafe creme", [7]), ("etude", [8]), ("गीत", [9]), ("ｶﾞﾗｽ", [10]), ("京東", []),
            ] as [(String, [Int64])] {
                #expect(try index.search(search(term)) == numbers, "\(term)")
            }
        }
    }

    @Test func filtersHold() async throws {
        var items = (1...6).map { ItemSamples.item(Int64($0), .app, "Star \($0)") }
        items[0].availability = .only(["DEU", "USA"])
        items[1].availability = .only(["DEU"])
        items[2].availability = .except(["DEU"])
        items[3].explicitness = .explicit
        items[4].platforms = [.mac]
        items[5].kind = .film
        items[5].releaseDate = 0
        for term in ["star", "example works"] {
            try await with(items) { index throws in
                func found(_ wanted: ItemSearch) throws -> [Int64] {
                    let numbers = try index.search(wanted)
                    #expect(try index.search(wanted, comparing: 0) == numbers)
                    return numbers
                }
                #expect(Set(try found(search(term))) == [1, 3, 4, 5, 6])
                #expect(Set(try found(search(term, in: "DEU"))) == [1, 2, 4, 5, 6])
                #expect(Set(try found(search(term, in: "FRA"))) == [3, 4, 5, 6])
                #expect(Set(try found(search(term, explicit: false))) == [1, 3, 5, 6])
                #expect(try found(search(term, [.app], platforms: [.mac, .iPad])) == [5])
                // Only apps have platforms, so other kinds are found whatever the platform.
                #expect(Set(try found(search(term, platforms: [.mac, .iPad]))) == [5, 6])
                #expect(try found(search(term, [.film])) == [6])
            }
        }
        try await with(items) { index throws in
            #expect(try index.search(search("1970", field: .releaseYear)) == [6])
            #expect(try index.search(search("6014", [.film], field: .genre)) == [6])
        }
    }

    /// A country that most limited items have and one that few have are filtered by different words of the index.
    @Test func everyStorefrontFindsItsItems() async throws {
        let shares = ["USA": 90, "DEU": 60, "FRA": 40, "JPN": 5]
        var generator = SeededGenerator(seed: 11)
        let items = (1...400).map { number in
            var item = ItemSamples.item(Int64(number), .song, "Star")
            let countries = Set(shares.filter { Int.random(in: 0..<100, using: &generator) < $0.value }.keys)
            switch number % 10 {
            case 0: item.availability = .everywhere
            case 1: item.availability = .except(countries)
            default: item.availability = .only(countries)
            }
            return item
        }
        try await with(items) { index throws in
            for country in shares.keys.sorted() + ["ITA"] {
                let storefront = try #require(Storefront.named(country))
                let shown = items.filter { $0.availability.includes(storefront) }.map(\.number)
                #expect(!shown.isEmpty && shown.count < items.count)
                for most in [0, 7, 1_000] {
                    let byName = try index.search(search("star", in: country, limit: 400), comparing: most)
                    #expect(byName == shown, "\(country) \(most)")
                    // Found by the creator's name, not by their own names.
                    let byCreator = try index.search(search("example", in: country, limit: 400), comparing: most)
                    #expect(byCreator == shown, "\(country) \(most)")
                }
            }
        }
    }

    @Test func songsAreFoundByTheirAlbum() async throws {
        var song = ItemSamples.item(1, .song, "First")
        song.place = ItemPlace(collection: 2, track: 1)
        try await with([song, ItemSamples.item(2, .album, "Night Drive")]) { index throws in
            #expect(try index.search(search("night drive")) == [2, 1])
            #expect(try index.search(search("night drive", [.song], field: .collection)) == [1])
        }
    }

    @Test func hostileTermsFindNothingAndHarmNothing() async throws {
        var generator = SeededGenerator(seed: 3)
        let pieces = [
            "\"", "'", "*", "^", "(", ")", ":", "-", "+", "{", "}", " AND ", " OR ", " NOT ", " NEAR(", "star", "\0",
            "\u{80}", "\u{84}kapp", "愛", "é", "\u{301}", "🎉", "\u{202E}", "\u{FFFF}", "%", "_", ";", "--", "\\",
        ]
        try await with([ItemSamples.item(1, .app, "Star")]) { index throws in
            for _ in 0..<1_000 {
                let term = (0..<Int.random(in: 0...10, using: &generator))
                    .compactMap { _ in pieces.randomElement(using: &generator) }.joined()
                _ = try index.search(search(term))
            }
            #expect(try index.search(search(String(repeating: "star \" OR ", count: 1_000))) == [])
            #expect(try index.search(search(String(repeating: "x", count: 10_000))) == [])
            #expect(try index.search(search("\u{84}kapp")) == [])
            #expect(try index.search(search("")) == [])
            #expect(try index.search(search("star*\0")) == [1])
            #expect(try index.search(search("s")) == [1])
        }
    }

    @Test func anItemWithNamesInSeveralLanguagesTakesOnePlace() async throws {
        var credits = ItemSamples.item(2, .app, "Monkey Credits")
        credits.texts.append(ItemText(locale: "de", name: "Monkey Kredite"))
        try await with([
            ItemSamples.item(1, .app, "A Monkey"), credits, ItemSamples.item(3, .app, "Monkey Zoo"),
        ]) { index throws in
            #expect(try index.search(search("monkey", limit: 2)) == [2, 3])
            #expect(try index.search(search("monkey", offset: 2, limit: 2)) == [1])
        }
    }

    @Test func pagesFitTogether() async throws {
        var generator = SeededGenerator(seed: 9)
        let words = ["star", "night", "love", "blue"]
        let items = (1...400).map { number in
            func name() -> String {
                (0..<3).compactMap { _ in words.randomElement(using: &generator) }.joined(separator: " ")
            }
            var item = ItemSamples.item(Int64(number), number % 3 == 0 ? .app : .song, name())
            item.texts.append(ItemText(locale: "de", name: name()))
            return item
        }
        try await with(items) { index throws in
            for term in ["star", "love blue", "night star love", "st"] {
                let all = try index.search(search(term, limit: 1_000))
                #expect(Set(all).count == all.count && !all.isEmpty)
                for size in [1, 7, 50] {
                    var paged: [Int64] = []
                    while case let page = try index.search(search(term, offset: paged.count, limit: size)),
                        !page.isEmpty
                    {
                        paged += page
                    }
                    #expect(paged == all)
                }
            }
        }
    }

    // MARK: Files

    @Test func aChangedCatalogGetsAnotherFile() async throws {
        try await TemporaryDirectory.with { directory in
            let indexes = ItemIndexes(folder: directory.url)
            func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.url.path) }
            let first = try indexes.index(of: [ItemSamples.item(1, .app, "One")])
            let names = try files()
            #expect(names.count == 1)
            #expect(try indexes.index(of: [ItemSamples.item(1, .app, "One")]).digest == first.digest)
            #expect(try files() == names)
            // A build that was interrupted.
            try Data("x".utf8).write(to: directory.url.appendingPathComponent("index-x.sqlite.1.new"))
            let current = CurrentItemIndex(first)
            current.replace(with: try indexes.index(of: [ItemSamples.item(1, .app, "Two")], keeping: first))
            #expect(try files().count == 2 && Set(files()).isSuperset(of: names))
            #expect(try current.value.item(1)?.texts.first?.name == "Two")
            // Requests that began before end with the old one, also over further connections.
            #expect(try first.item(1)?.texts.first?.name == "One" && first.readers(2).count == 2)
            let second = current.value
            current.replace(with: try indexes.index(of: [ItemSamples.item(1, .app, "Three")], keeping: second))
            #expect(try files().count == 2 && !files().contains(names[0]) && second.readers(2).count == 2)
            #expect(try first.item(1)?.texts.first?.name == "One")
            // At the next start nothing uses the index before.
            _ = try indexes.index(of: [ItemSamples.item(1, .app, "Three")])
            #expect(try files().count == 1)
        }
    }

    @Test func aDamagedFileIsBuiltAgain() async throws {
        try await TemporaryDirectory.with { directory in
            let indexes = ItemIndexes(folder: directory.url)
            let items = [ItemSamples.item(1, .app, "One")]
            _ = try indexes.index(of: items)
            let name = try #require(FileManager.default.contentsOfDirectory(atPath: directory.url.path).first)
            try Data("not a database".utf8).write(to: directory.url.appendingPathComponent(name))
            #expect(try indexes.index(of: items).item(1) == items[0])
        }
    }

    @Test func aFailedBuildLeavesTheOldFile() async throws {
        try await TemporaryDirectory.with { directory in
            let file = directory.url.appendingPathComponent("index")
            try ItemIndex.build([ItemSamples.item(1, .app, "One")], at: file)
            let twice = [ItemSamples.item(2, .app, "Two"), ItemSamples.item(2, .app, "Two")]
            #expect(throws: (any Error).self) { try ItemIndex.build(twice, at: file) }
            #expect(try ItemIndex.open(at: file).item(1) != nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["index"])
        }
    }

    @Test func manyThreadsReadAtOnce() async throws {
        let items = (1...200).map { ItemSamples.item(Int64($0), .app, "Star \($0)") }
        try await with(items) { index throws in
            DispatchQueue.concurrentPerform(iterations: 400) { number in
                let wanted = Int64(number % 200 + 1)
                #expect((try? index.item(wanted))?.number == wanted)
            }
        }
    }
}
