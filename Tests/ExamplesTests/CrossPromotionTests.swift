import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CrossPromotion
@testable import StoreKit

@Suite("Cross Promotion", .timeLimit(.minutes(1)))
@MainActor
struct CrossPromotionTests {
    /// Buys what the pages show, and remembers what they said.
    private final class Customer: StorePresenter {
        private let lines = Mutex<[String]>([])
        var read: [String] { lines.withLock { $0 } }

        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
            lines.withLock { $0.append("\(page.item?.name ?? "") \(page.item?.isOwned == true)") }
            return .buy
        }
        func tell(_ sentence: String) async { lines.withLock { $0.append(sentence) } }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }
    }

    private func search(_ store: SampleStore) throws -> ItemSearch {
        ItemSearch(base: try #require(URL(string: store.addresses.storefront)))
    }

    @Test(arguments: Backend.available)
    func `the songs of the playlist are found by search, and bought once on their pages`(
        _ backend: Backend
    ) async throws {
        try await SampleStore.with(backend) { store in
            let search = try search(store)
            let customer = Customer()
            var device = store.device("device", app: "com.example.crosspromotion")
            device.presenter = customer
            let engine = store.launch(device)
            let pages = ItemPages()
            pages.makePage = { SKStoreProductViewController(engine: engine) }
            for _ in 1...2 {
                for song in Promotion.playlist { try await pages.show(try await song.number(search)) }
            }
            let names = Promotion.playlist.map(\.name)
            // The songs' files arrive meanwhile.
            let pagesRead = customer.read.filter { !$0.hasPrefix("Downloaded ") }
            #expect(pagesRead == names.flatMap { ["\($0) false", "Bought \($0)."] } + names.map { "\($0) true" })
            await engine.stop()
        }
    }

    @Test func `an item is found by its link and by search, and a missing one is told`() async throws {
        try await SampleStore.with { store in
            let search = try search(store)
            #expect(try await Promotion.otherApp.number(search) == 1_400_000_002)
            let other = try await search.item(1_400_000_002)
            // The store sends 0 for an app that nobody has rated.
            #expect(other.name == "Photo Filters" && other.stars == 0 && other.rating == nil)
            let film = try await Promotion.film.number(search)
            let item = try await search.item(film)
            #expect(item.name == "The Keeper" && item.creator == "Lena Example")
            // The item's own link leads back to it.
            #expect(ItemSearch.number(inLink: item.link) == film)
            #expect(try await search.items(matching: "C++ & more").isEmpty)
            await #expect(throws: ItemSearch.Failure(text: "The store has no item 7.")) {
                _ = try await search.item(7)
            }
            let missing = Promotion(name: "Silence", source: .search("silence", entity: "song"))
            await #expect(throws: ItemSearch.Failure(text: "The store has no song with the name Silence.")) {
                _ = try await missing.number(search)
            }
            let pages = ItemPages()
            let engine = store.launch(store.device("device", app: "com.example.crosspromotion"))
            pages.makePage = { SKStoreProductViewController(engine: engine) }
            let error = await #expect(throws: SKError.self) { try await pages.show(7) }
            #expect(error?.code == .storeProductNotAvailable)
            await engine.stop()
        }
    }

    @Test func `a search without a store fails with a sentence`() async throws {
        let search = ItemSearch(base: try #require(URL(string: "http://127.0.0.1:1/")))
        await #expect(throws: ItemSearch.Failure.self) { _ = try await search.item(1) }
    }

    @Test(
        arguments: [
            ("https://apps.apple.com/us/app/photo-filters/id1400000002?mt=8", 1_400_000_002),
            ("http://127.0.0.1:8403/id1400000001", 1_400_000_001),
            ("itms-apps://itunes.apple.com/app/id5", 5),
            ("https://apps.apple.com/us/album/canopy/1400000003?i=1400000004", nil),
            ("https://apps.apple.com/us/developer/x/idle", nil), ("/id99999999999999999999", nil), ("", nil),
        ] as [(String, Int64?)])
    func `only the digits after id in a link count`(_ link: String, _ number: Int64?) {
        #expect(ItemSearch.number(inLink: link) == number)
    }

    @Test func `arguments are parsed, and wrong ones are refused with a message`() throws {
        #expect(try CrossPromotionOptions(arguments: []).action == .ask)
        let linked = try CrossPromotionOptions(arguments: ["--show", "https://a.test/app/id12", "--links"])
        #expect(linked.action == .show(12) && linked.opensLinks)
        #expect(try CrossPromotionOptions(arguments: ["--find", "keeper"]).action == .find("keeper"))
        for bad in [
            ["--show"], ["--show", "x"], ["--show", "-3"], ["--app", "--film"], ["--find", "--app"], ["what"],
        ] {
            #expect(throws: CrossPromotionOptions.Misuse.self) { try CrossPromotionOptions(arguments: bad) }
        }
    }

    // MARK: The program

    nonisolated private static let isBuilt = SampleProgram.isBuilt("cross-promotion")

    private func program(_ store: SampleStore, _ variables: [String: String] = [:]) -> SampleProgram {
        SampleProgram(
            name: "cross-promotion", store: store, device: "device",
            variables: ["CORNERSTORE_STOREFRONT": store.addresses.storefront].merging(variables) { $1 })
    }

    @Test(.enabled(if: isBuilt, "cross-promotion is not built"), arguments: Backend.available)
    func `a customer buys the other app on its page and reviews it, and the search shows the rating`(
        _ backend: Backend
    ) async throws {
        try await SampleStore.with(backend) { store in
            let app = program(store)
            let seen = try await app.run(["--app"], sheet: "decline")
            #expect(seen.output == "Photo Filters is item 1400000002.\nBack in Cross Promotion.\n", "\(seen)")
            #expect(seen.errors.contains("Photo Filters  $1.99") && !seen.errors.contains("Bought"))
            let bought = try await app.run("--app")
            #expect(bought.status == 0 && bought.errors.contains("Bought Photo Filters."), "\(bought)")
            let page = try #require(bought.errors.firstMatch(of: /http:\S+\/visit\/[0-9a-f]+/)).0
            let sent = try await HTTPReply(
                "POST", "\(page)/review", type: "application/x-www-form-urlencoded",
                body: Array("stars=4&title=Good&text=Very".utf8))
            #expect([200, 303].contains(sent.status))
            let found = try await app.run("--look-up", "1400000002")
            #expect(
                found.output == "1400000002  Photo Filters, by Example Pictures  4.0 of 5 stars (1)\n", "\(found)")
        }
    }

    @Test(.enabled(if: isBuilt, "cross-promotion is not built"))
    func `the program finds, opens links, and says what is missing`() async throws {
        try await SampleStore.with { store in
            let app = program(store)
            let found = try await app.run("--find", "gibbons")
            #expect(found.status == 0)
            #expect(Promotion.playlist.allSatisfy { found.output.contains("\($0.name), by The Gibbons") }, "\(found)")
            let link = try await app.run("--film", "--links")
            #expect(link.output.contains("Open \(store.addresses.storefront)/us/movie/"), "\(link)")
            let missing = try await app.run("--show", "7")
            #expect(missing.status == 1 && missing.output == "Cannot connect to iTunes Store\n", "\(missing)")
            #expect(try await app.run("--show").status == 2)
            let nowhere = try await program(store, ["CORNERSTORE_STOREFRONT": ""]).run("--film")
            #expect(nowhere.status == 1 && nowhere.errors.contains("CORNERSTORE_STOREFRONT"), "\(nowhere)")
        }
    }

    @Test(.enabled(if: isBuilt, "cross-promotion is not built"))
    func `a customer buys a song by typing, and returns to the app`() async throws {
        try await SampleStore.with { store in
            let terminal = try program(store).atTerminal()
            try await terminal.expect("Which (a number, a link, or words to search for)?")
            terminal.type("swing low")
            try await terminal.expect("1400000005  Swing Low Leaf, by The Gibbons")
            try await terminal.expect("Which (a number, a link, or words to search for)?")
            terminal.type("1400000005")
            // A song's page is for a customer.
            try await terminal.signIn()
            try await terminal.expect("Swing Low Leaf  $0.99")
            try await terminal.expect("[b]uy or [d]one?")
            terminal.type("b")
            try await terminal.expect("Bought Swing Low Leaf.")
            try await terminal.expect("Back in Cross Promotion.")
            try await terminal.expect("Which (a number, a link, or words to search for)?")
            terminal.type("q")
            #expect(await terminal.ending() == 0)
        }
    }
}
