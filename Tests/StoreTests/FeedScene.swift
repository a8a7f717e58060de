import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// A desk with items that can be changed, over a store of its own.
final class FeedScene: Sendable {
    let test: TestStore
    let folder: URL
    let items: CurrentItemIndex
    let desk: FeedDesk
    private let indexes: ItemIndexes

    static let base = "https://store.example"

    private init(
        _ test: TestStore, _ folder: URL, _ items: [CatalogItem], layouts: Set<FeedLayout>, countries: [Storefront],
        _ onStep: @escaping @Sendable (FeedStep) throws -> Void
    ) throws {
        (self.test, self.folder) = (test, folder.appendingPathComponent("feeds"))
        let index = folder.appendingPathComponent("index")
        try FileManager.default.createDirectory(at: index, withIntermediateDirectories: true)
        indexes = ItemIndexes(folder: index)
        self.items = CurrentItemIndex(try indexes.index(of: items))
        desk = try FeedDesk(
            folder: self.folder, store: test.store, items: self.items, base: { Self.base },
            layouts: layouts, countries: countries, onStep: onStep)
    }

    static func with(
        _ backend: Backend, _ items: [CatalogItem], layouts: Set<FeedLayout> = Set(FeedLayout.allCases),
        countries: [Storefront] = [.unitedStates],
        onStep: @escaping @Sendable (FeedStep) throws -> Void = { _ in },
        _ body: @escaping @Sendable (FeedScene) async throws -> Void
    ) async throws {
        try await backend.withStore { test async throws in
            try await TemporaryDirectory.with { directory async throws in
                let scene = try FeedScene(test, directory.url, items, layouts: layouts, countries: countries, onStep)
                try await body(scene)
                await scene.desk.close()
            }
        }
    }

    /// Changes the catalog, as two changed files do: the file of the old index is gone.
    func change(_ new: [CatalogItem]) throws { items.replace(with: try indexes.index(of: new)) }

    /// Reads the tables of a folder of partners' paths, such as `/feeds/epf/v5/current/`.
    func tables(_ path: String) throws -> [FeedReader] {
        let archives = desk.shelf.all.filter { $0.key.hasPrefix(path) && $0.key.hasSuffix(".tbz") }
            .sorted { $0.key < $1.key }.filter { !$0.key.dropFirst(path.count).contains("incremental/") }
        return try FeedReader.entries(ofArchives: archives.map { [UInt8](try Data(contentsOf: $0.value.url)) })
            .map { try FeedReader(name: $0.name, relational: $0.bytes) }
    }

    func table(_ name: String, _ path: String = "/feeds/epf/v5/current/") throws -> FeedReader {
        try #require(tables(path).first { $0.name.hasSuffix("/\(name)") }, "\(name)")
    }
}

/// Items of all kinds whose texts try the grammar.
enum FeedSamples {
    static func app(_ number: Int64, name: String = "Monkeys", price: Int64 = 990) -> CatalogItem {
        var item = ItemSamples.item(number, .app, name)
        item.bundleID = BundleID("com.example.app\(number)")
        item.platforms = [.iPhone, .iPad]
        item.creator = ItemCreator(number: 700, name: "Ape & Söhne")
        item.genres = [ItemGenre(number: 6014, name: "Games"), ItemGenre(number: 7001, name: "Action")]
        item.texts = [
            ItemText(locale: "en_US", name: name, description: "First\n#second\u{1}\u{2}\n\0third"),
            ItemText(locale: "en_GB", name: "\(name) UK"), ItemText(locale: "ja", name: "おさる", description: "猿"),
        ]
        item.versions = [
            ItemVersion(version: "1.1é", releaseDate: 1_700_000_000_000, notes: [ItemNote(locale: "ja", text: "新")])
        ]
        item.screenshots = [
            ItemScreenshot(platform: .iPad, picture: ItemPicture(path: "/s.png", width: 768, height: 1024, modified: 1))
        ]
        item.prices = CatalogPrices(amount: price, byStorefront: ["JPN": 120_000], byCurrency: ["EUR": 1_090])
        item.copyright = "© 猿"
        return item
    }

    static let album: CatalogItem = {
        var item = ItemSamples.item(2_000, .album, "First Branch")
        item.genres = [ItemGenre(number: 34, name: "Music")]
        item.prices = CatalogPrices(amount: 7_990, byStorefront: [:], byCurrency: [:])
        return item
    }()

    static func song(_ number: Int64, track: Int) -> CatalogItem {
        var item = ItemSamples.item(number, .song, "Song \(number)")
        item.place = ItemPlace(collection: 2_000, disc: 1, track: track)
        item.explicitness = .explicit
        item.duration = 61_000
        item.prices = CatalogPrices(amount: 1_290, byStorefront: [:], byCurrency: [:])
        item.availability = .only(["USA", "DEU"])
        return item
    }

    static let film: CatalogItem = {
        var item = ItemSamples.item(3_000, .film, "The Ape\u{2}man")
        item.creator = ItemCreator(number: 800, name: "Dir Ector")
        item.texts[0].description = String(repeating: "é", count: 1_200)
        item.prices = CatalogPrices(amount: 9_990, byStorefront: ["VNM": 1_000_000_000], byCurrency: [:])
        return item
    }()

    static let all: [CatalogItem] = [
        app(1_000), app(1_001, name: "#hash", price: 0), album, song(2_001, track: 1), song(2_002, track: 2), film,
        ItemSamples.item(4_000, .season, "Season One"),
        {
            var item = ItemSamples.item(4_001, .episode, "Pilot")
            item.place = ItemPlace(collection: 4_000, track: 1)
            return item
        }(), ItemSamples.item(5_000, .book, "The Example"),
    ]
}

/// Finds the catalog again in the tables that a feed was loaded into.
struct FeedCheck {
    let connection: Connection

    /// Checks that the tables have these items, with the texts, creators, genres and prices that they have now.
    /// - Parameter isExact: whether the tables have no other items.
    func expect(_ items: [CatalogItem], isExact: Bool = true) throws {
        let kinds: [(table: String, id: String, kinds: [ItemKind])] = [
            ("application", "application", [.app]), ("song", "song", [.song]),
            ("collection", "collection", [.album, .season]), ("video", "video", [.film, .episode]),
        ]
        for (table, id, kinds) in kinds {
            let wanted = items.filter { kinds.contains($0.kind) }
            let found = try connection.query("SELECT \(id)_id FROM epf_\(table)", []).map { try $0.int64(0) }
            if isExact {
                #expect(found.sorted() == wanted.map(\.number).sorted(), "\(table)")
            } else {
                #expect(Set(found).isSuperset(of: wanted.map(\.number)), "\(table)")
            }
            for item in wanted { try expect(item, table, id) }
        }
    }

    private static func clean(_ text: String, _ limit: Int? = nil) -> String {
        let kept = String(text.unicodeScalars.filter { $0.value > 2 }.map(Character.init))
        return limit.map { String(kept.prefix($0)) } ?? kept
    }

    private func expect(_ item: CatalogItem, _ table: String, _ id: String) throws {
        let (title, artist) = table == "application" ? ("title", "artist_name") : ("name", "artist_display_name")
        let row = try #require(
            try connection.queryOne(
                "SELECT \(title), \(artist), view_url FROM epf_\(table) WHERE \(id)_id = $1", [item.number]))
        #expect(try row.string(0) == Self.clean(item.texts[0].name) && row.string(1) == item.creator.name)
        let link = try row.string(2)
        #expect(link.hasPrefix(FeedScene.base) && link.hasSuffix("uo=5") && link.contains(String(item.number)))
        #expect(
            try connection.queryOne("SELECT name FROM epf_artist WHERE artist_id = $1", [item.creator.number])?.string(
                0)
                == item.creator.name)
        let prices = try connection.query(
            "SELECT s.country_code, p.retail_price, p.currency_code FROM epf_\(table)_price p JOIN epf_storefront s "
                + "ON s.storefront_id = p.storefront_id WHERE p.\(id)_id = $1 ORDER BY s.country_code", [item.number]
        ).map { [try $0.string(0), try $0.string(1), try $0.string(2)] }
        let wanted = Storefront.all.compactMap { storefront -> [String]? in
            guard let price = item.price(in: storefront), price.milliunits < 1_000_000_000 else { return nil }
            let isWhole = ["JPY", "KRW", "VND", "CLP"].contains(price.currency) && price.milliunits % 1_000 == 0
            let text =
                isWhole ? String(price.milliunits / 1_000) : String(format: "%.2f", Double(price.milliunits) / 1_000)
            return [storefront.countryCode, text, price.currency]
        }
        #expect(prices == wanted, "\(item.number)")
        guard item.kind != .song else { return try expectSong(item) }
        let genres = try connection.query(
            "SELECT r.genre_id, g.name FROM epf_genre_\(id) r JOIN epf_genre g ON g.genre_id = r.genre_id "
                + "WHERE r.\(id)_id = $1 ORDER BY r.is_primary DESC, r.genre_id", [item.number]
        ).map { ItemGenre(number: try $0.int64(0), name: try $0.string(1)) }
        #expect(genres.first == item.genres.first && Set(genres) == Set(item.genres))
        switch item.kind {
        case .app: try expectApp(item)
        case .film, .episode:
            let text = try connection.queryOne(
                "SELECT long_description FROM epf_video WHERE video_id = $1", [item.number])?.optionalString(0)
            #expect(text == item.texts[0].description.map { Self.clean($0, 1_000) })
        default: break
        }
    }

    private func expectApp(_ item: CatalogItem) throws {
        let details = try connection.query(
            """
            SELECT title, description, release_notes, ipad_screenshot_width_height_1 FROM epf_application_detail
            WHERE application_id = $1
            """, [item.number]
        ).map { [try $0.string(0), try $0.optionalString(1), try $0.optionalString(2), try $0.optionalString(3)] }
        let wanted = item.texts.map {
            [$0.name, $0.description.map { Self.clean($0) }, item.versions[0].notes[0].text, "768x1024"]
        }
        #expect(Set(details) == Set(wanted))
        #expect(
            try connection.query(
                "SELECT device_type_id FROM epf_application_device_type WHERE application_id = $1", [item.number]
            ).count == item.platforms.count)
    }

    private func expectSong(_ item: CatalogItem) throws {
        let row = try #require(
            try connection.queryOne(
                """
                SELECT s.collection_display_name, c.name, p.track_number, p.volume_number, s.track_length, a.name
                FROM epf_song s JOIN epf_collection_song p ON p.song_id = s.song_id
                JOIN epf_collection c ON c.collection_id = p.collection_id
                LEFT JOIN epf_parental_advisory a ON a.parental_advisory_id = s.parental_advisory_id
                WHERE s.song_id = $1
                """, [item.number]))
        #expect(try row.string(0) == row.string(1))
        #expect(try row.int(2) == item.place?.track && row.int(3) == item.place?.disc)
        #expect(try row.int64(4) == item.duration && row.string(5) == "Explicit")
    }
}
