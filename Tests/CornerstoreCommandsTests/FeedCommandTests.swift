import Foundation
import Store
import StoreServer
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct FeedCommandTests {
    private static let items = """
        cornerstore-catalog: 1
        apps: []
        items:
          - number: 1000
            kind: film
            creator: {number: 900, name: Ann Director}
            genres: [{number: 33, name: Movies}]
            texts: [{locale: en_US, name: Film}]
            releaseDate: "2020-01-01"
            displayPrice: 4.99
        """

    @Test func feedsAreBuiltAndListed() async throws {
        try await RunningStore.with(yaml: Self.items) { store in
            #expect(await store.run("feed").output == "No feeds.\n")
            let early = await store.run("feed build --incremental")
            #expect(early.status == 1 && early.errors.contains("There is no full feed. Build one first."))
            let built = await store.run("feed build --date 2026-01-07 --json")
            #expect(built.status == 0, "\(built.errors)")
            let feed = try built.output.object()
            #expect(feed["mode"] as? String == "full" && feed["items"] as? Int == 1)
            #expect(await store.run("feed build --incremental --date 2026-01-08").status == 0)
            let list = await store.run("feed list").output
            #expect(list.contains("2026-01-07  full") && list.contains("2026-01-08  incremental"))
            #expect(await store.run("feed build --full --incremental").status == 2)
            #expect(await store.run("feed build --date tomorrow").status == 1)
        }
    }

    @Test func partnersAreAddedListedAndRemoved() async throws {
        try await RunningStore.with(yaml: Self.items) { store in
            #expect(await store.run("partner").output == "No partners.\n")
            let added = await store.run("partner add example")
            #expect(added.output.contains(/The password of example is [0-9a-f]{32}\. It is not shown again\./))
            #expect(await store.run("partner list").output.contains("example"))
            #expect(await store.run("partner add example").status == 1)
            #expect(await store.run("partner remove example").output == "Removed.\n")
            #expect(await store.run("partner remove example").status == 1)
        }
    }

    @Test func settingsOfTheFeedAreRead() throws {
        func settings(_ flags: [ServeSetting: String]) throws -> FeedSettings {
            try ServeSettings(flags: flags, files: ["a.yaml"], productsFiles: [], environment: [:], file: nil)
                .configuration().feed
        }
        #expect(try settings([:]) == FeedSettings())
        let given = try settings([.feed: "true", .feedLayouts: "v5, flat", .feedCountries: "usa,DEU,usa"])
        #expect(given.isScheduled && given.layouts == [.tables, .flat])
        #expect(given.countries.map(\.countryCode) == ["USA", "DEU"])
        for wrong in [
            [.feedLayouts: "v4"], [.feedCountries: "us"], [.feed: "yes"],
            [.feedCountries: Storefront.all.map(\.countryCode).joined(separator: ",")],
        ] as [[ServeSetting: String]] {
            #expect(throws: CommandError.self) { try settings(wrong) }
        }
    }
}
