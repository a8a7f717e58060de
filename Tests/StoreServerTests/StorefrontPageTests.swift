import AsyncHTTPClient
import ControlWire
import Foundation
import NIOCore
import Store
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite(.timeLimit(.minutes(1))) struct StorefrontPageTests {
    static let items = """

        items:
          - number: 1000
            kind: app
            bundleID: com.example.monkeys
            platforms: [iphone]
            creator: {number: 900, name: Monkey Works}
            genres: [{number: 6014, name: Games}]
            texts: [{locale: en_US, name: "Monkeys & <b>Co</b>", description: "One\\nTwo"}]
            versions: [{version: "1.1", releaseDate: 2026-01-02}, {version: "1.0", releaseDate: 2025-01-02}]
            displayPrice: 1.99
            availability: {except: [FRA]}
            relatedItems: [1002, 7]
          - number: 1001
            kind: album
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: Canopy}]
            releaseDate: "2020-01-01"
          - number: 1002
            kind: song
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: First Branch}, {locale: en_GB, name: First Bough}]
            releaseDate: "2020-01-01"
            displayPrice: 0.69
            collection: 1001
            track: 1
            duration: 181000
        """

    private func with(_ body: @escaping @Sendable (String) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url) { try await body($0.addresses.storefront) }
        }
    }

    private func get(_ url: String) async throws -> (status: UInt, headers: [String: String], html: String) {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        let headers = Dictionary(
            response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        return (response.status.code, headers, String(buffer: body))
    }

    @Test func allLinkFormsLeadToTheItem() async throws {
        try await with { store in
            for path in [
                "/us/app/monkeys/id1000", "/app/monkeys/id1000?mt=8", "/id1000", "/us/app/id1000",
                "/gb/app/anything/id1000",
                "/us/app/%E7%8C%BF/id1000?at=1&ct=2", "/WebObjects/MZStore.woa/wa/viewSoftware?id=1000&mt=8",
            ] {
                let (status, headers, html) = try await get(store + path)
                #expect(
                    status == 200 && html.contains("<h1 dir=\"auto\">Monkeys &amp; &lt;b&gt;Co&lt;/b&gt;</h1>"),
                    "\(path)")
                #expect(headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
                #expect(headers["x-content-type-options"] == "nosniff")
            }
            let song = try await get("\(store)/us/album/first-branch/1001?i=1002")
            #expect(song.html.contains(">First Branch</h1>") && song.html.contains(">3:01</dd>"))
            let album = try await get("\(store)/us/album/canopy/1001")
            #expect(album.html.contains(">Canopy</h1>") && album.html.contains("?i=1002\""))
            let artist = try await get("\(store)/us/artist/the-gibbons/901")
            #expect(artist.html.contains(">Canopy<") && artist.html.contains(">First Branch<"))
        }
    }

    @Test func anAppsPageShowsItsPurchasesVersionsAndPrice() async throws {
        try await with { store in
            let (_, _, html) = try await get("\(store)/us/app/id1000")
            for text in ["$1.99", "What's New", "Version history", "hats", "$2.99", "First Branch", "Monkey Works"] {
                #expect(html.contains(text), "\(text)")
            }
            #expect(!html.contains("<form method=\"post\""))
            let style = try #require(html.firstMatch(of: /href="(\/assets\/[^"]+)"/)?.1)
            let (status, headers, _) = try await get(store + style)
            #expect(status == 200 && headers["content-type"] == "text/css; charset=utf-8")
        }
    }

    @Test func campaignsAreCounted() async throws {
        try await TemporaryDirectory.with { directory in
            let catalog = directory.url.appendingPathComponent("catalog.yaml")
            try Data((RunningServer.catalogText + Self.items).utf8).write(to: catalog)
            try await RunningServer.with(directory.url) { server in
                for query in ["?ct=spring&at=11l", "?mt=8&ct=spring&at=11l", "", "?ct=%00"] {
                    #expect(try await get("\(server.addresses.storefront)/us/app/id1000\(query)").status == 200)
                }
                let views = try await server.control("GET", "/control/v1/items/1000/campaigns")
                    .decoded([ControlAPI.CampaignViews].self)
                #expect(views.map(\.campaign) == ["spring"] && views.map(\.affiliate) == ["11l"])
                #expect(views.map(\.views) == [2])
                #expect(try await server.control("GET", "/control/v1/items/x/campaigns").status == 400)
            }
        }
    }

    @Test func otherAddressesAreNotFound() async throws {
        try await with { store in
            for path in [
                "/us/app/id5", "/fr/app/id1000", "/zz/app/id1000", "/nothing", "/us/app/id99999999999999999999",
                "/us/artist/x/5", "/us/nothing/at/all", "/us/app/id1000x", "/xx",
            ] {
                let (status, _, html) = try await get(store + path)
                #expect(status == 404 && html.contains("<h1>Not found</h1>"), "\(path)")
            }
        }
    }

    @Test func theFirstPageListsAndFinds() async throws {
        try await with { store in
            for path in ["/", "/us"] { #expect(try await get(store + path).html.contains(">First Branch<")) }
            let found = try await get("\(store)/us/find?term=branch")
            #expect(found.html.contains("Results for “branch”") && found.html.contains(">First Branch<"))
            let none = try await get("\(store)/find?term=%3Cscript%3E&offset=-5")
            #expect(none.html.contains("No item of this storefront") && !none.html.contains("<script"))
        }
    }

    @Test(arguments: [
        (0, "0 bytes"), (999, "999 bytes"), (1_000, "1 kB"), (1_550, "1.6 kB"), (12_345_678, "12 MB"),
        (4_500_000_000, "4.5 GB"),
    ])
    func sizesAreInTheStoresUnits(_ bytes: Int64, _ text: String) { #expect(ItemPages.size(bytes) == text) }

    @Test(arguments: [(0, "0:00"), (181_999, "3:01"), (3_661_000, "1:01:01"), (-5, "0:00")])
    func durationsAreInMinutes(_ milliseconds: Int64, _ text: String) {
        #expect(ItemPages.duration(milliseconds) == text)
    }
}
