import Crypto
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("The partner feed", .timeLimit(.minutes(1)))
struct FeedTests {
    /// 7 January 2026, a Wednesday.
    private static let wednesday = FeedDay(days: 20_460)
    private static func day(_ offset: Int) -> FeedDay { FeedDay(days: wednesday.days + offset) }

    /// The six incremental feeds that follow a full one, in three parts, because all of them are much work.
    @Test(arguments: Backend.available, [1...2, 3...4, 5...6])
    func aFullAndIncrementalFeedsBringTheCatalog(_ backend: Backend, _ days: ClosedRange<Int>) async throws {
        try await FeedScene.with(backend, FeedSamples.all, layouts: [.tables]) { scene async throws in
            try await backend.withDatabase { database, _ in
                try await scene.desk.build(.full, day: Self.wednesday)
                let full = try scene.tables("/feeds/epf/v5/current/")
                #expect(full.map(\.tableName).sorted() == FeedTable.all.map { "epf_\($0.name)" }.sorted())
                try await database.write { connection in
                    for table in full { try table.load(connection) }
                    try FeedCheck(connection: connection).expect(FeedSamples.all)
                }
                var items = FeedSamples.all
                for offset in days {
                    // A new app each day, and another kind of change.
                    var new = FeedSamples.app(1_100 + Int64(offset), name: "Day \(offset)")
                    (new.creator, new.availability) = (items[0].creator, .only(["USA", "JPN"]))
                    items.append(new)
                    switch offset {
                    case 1: items[0].prices = CatalogPrices(amount: 2_990, byStorefront: [:], byCurrency: [:])
                    case 2: items[2].texts[0].name = "Second Branch"
                    case 3: for index in items.indices { items[index].creator.name += "!" }
                    case 4: items[0].genres.append(ItemGenre(number: 6005, name: "Social Networking"))
                    case 5: items[5].texts[0].description = "Short"
                    default: items[1].texts[0].description = "New\nlines"
                    }
                    try scene.change(items)
                    let build = try await scene.desk.build(.incremental, day: Self.day(offset))
                    // Cumulative: what changed on an earlier day is there as well.
                    #expect(build.items > offset - days.lowerBound && (offset > 2 || build.items < items.count))
                    let tables = try scene.tables("/feeds/epf/v5/current/incremental/current/")
                    #expect(
                        tables.allSatisfy {
                            $0.mode == ($0.name.contains("popularity") ? "FULL" : "INCREMENTAL")
                                && $0.name.contains(Self.day(offset).description)
                        })
                    let (current, isLast) = (items, offset == days.upperBound)
                    try await database.write { connection in
                        if isLast {
                            // A partner who missed the days before needs only the last.
                            for table in full { try table.load(connection) }
                        }
                        for table in tables { try table.load(connection) }
                        try FeedCheck(connection: connection).expect(current)
                    }
                }
                guard days.upperBound == 6 else { return }
                // The next full feed drops what left.
                items.removeFirst(2)
                try scene.change(items)
                try await scene.desk.build(.full, day: Self.day(7))
                let (left, next) = (items, try scene.tables("/feeds/epf/v5/current/"))
                try await database.write { connection in
                    for table in next { try table.load(connection) }
                    try FeedCheck(connection: connection).expect(left)
                }
            }
        }
    }

    @Test func version3HasTheSameRows() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            try await scene.desk.build(.full, day: Self.wednesday)
            let five = try scene.tables("/feeds/epf/v5/current/")
            let three = try scene.tables("/feeds/epf/v3/full/current/")
            #expect(Set(three.map(\.name)) == Set(FeedTable.version3.map { "\($0.group.rawValue)20260107/\($0.name)" }))
            for table in three where !table.name.hasSuffix("/application_popularity_per_genre") {
                #expect(five.first { $0.name == table.name }?.bytes == table.bytes)
            }
            #expect(try scene.tables("/feeds/epf/v4/full/20260107/").map(\.bytes) == five.map(\.bytes))
        }
    }

    @Test func flatFilesHaveTheItemsOfAStorefront() async throws {
        let countries = ["USA", "JPN"].compactMap { Storefront.named($0) }
        try await FeedScene.with(.sqlite, FeedSamples.all, countries: countries) { scene async throws in
            try await scene.desk.build(.full, day: Self.wednesday)
            func file(_ name: String, _ country: String) throws -> FeedReader {
                let found = try #require(
                    scene.desk.shelf.all["/feeds/epf-flat/v1/full/\(country)/\(name)-\(country)20260107.tbz"])
                let entries = try FeedReader.entries(ofArchive: [UInt8](Data(contentsOf: found.url)))
                #expect(entries.map(\.name) == ["\(name)-\(country).txt"])
                return try FeedReader(name: entries[0].name, flat: entries[0].bytes)
            }
            let apps = try file("application", "jpn")
            let price = try #require(apps.columns.firstIndex(of: "retail_price"))
            #expect(apps.rows.map { $0[0] } == ["1000", "1001"] && apps.rows.map { $0[price] } == ["120", "120"])
            #expect(apps.rows[0].last == "First #second\u{1}\u{2} third")
            #expect(try file("song", "jpn").rows.isEmpty && file("song", "usa").rows.count == 2)
            #expect(try file("ebook", "usa").rows.first?[1] == "The Example")
            #expect(!apps.columns.contains("export_date"))
        }
    }

    @Test func theSameCatalogAndDayGiveTheSameBytes() async throws {
        let first = Mutex<[String: SHA256.Digest]>([:])
        for _ in 0..<2 {
            try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
                try await scene.desk.build(.full, day: Self.wednesday)
                let sums = try scene.desk.shelf.all.mapValues { SHA256.hash(data: try Data(contentsOf: $0.url)) }
                let before = first.withLock { first in
                    defer { first = sums }
                    return first
                }
                #expect(before.isEmpty || before == sums)
                #expect(sums.count > 200)
            }
        }
    }

    @Test(arguments: Backend.available) func ranksAreTheSalesOfSevenDays(_ backend: Backend) async throws {
        try await FeedScene.with(backend, FeedSamples.all) { scene async throws in
            let test = scene.test
            test.store.catalog.replace(
                with: try Catalog(
                    apps: [],
                    items: FeedSamples.all.map { item in
                        // Apps of items need products' files, which do not matter here.
                        var item = item
                        if item.kind == .app { item.bundleID = nil }
                        return item
                    }))
            func buy(_ item: Int64, _ count: Int, _ storefront: String) async throws {
                for _ in 0..<count {
                    let account = try await test.account(
                        "\(UUID())@example.com", storefront: storefront)
                    _ = try await test.store.buyItem(
                        ItemPurchaseRequest(item: item, idempotencyKey: UUID()), by: account)
                }
            }
            let day = FeedDay(milliseconds: TestClock.start)
            test.clock.milliseconds = TestClock.start - 8 * 86_400_000
            try await buy(1_001, 3, "DEU")
            test.clock.milliseconds = TestClock.start - 2 * 86_400_000
            try await buy(1_000, 2, "USA")
            try await buy(1_001, 1, "USA")
            try await buy(1_001, 1, "DEU")
            try await buy(2_002, 1, "USA")
            test.clock.milliseconds = TestClock.start
            try await buy(1_001, 1, "JPN")
            try await scene.desk.build(.full, day: day)

            func rows(_ name: String, _ path: String = "/feeds/epf/v5/current/") throws -> [[String]] {
                try scene.table(name, path).rows.map { $0.dropFirst().map { $0 ?? "NULL" } }
            }
            let paid = try rows("paid_application_popularity_per_genre")
            #expect(
                Set(paid.filter { $0[0] == "143441" })
                    == Set(["36", "6014", "7001"].map { ["143441", $0, "1000", "1"] }))
            let free = try rows("free_ipad_application_popularity_per_genre")
            #expect(free.count == 3 && free.allSatisfy { $0[0] == "143441" && $0[2...] == ["1001", "1"] })
            #expect(
                Set(try rows("song_popularity_per_genre"))
                    == [["143441", "6014", "2002", "1"], ["143441", "36", "2002", "1"]])
            let all = try rows("application_popularity_per_genre", "/feeds/epf/v3/full/current/")
            #expect(
                Set(all.filter { $0[0] == "143441" && $0[1] == "36" })
                    == [["143441", "36", "1000", "1"], ["143441", "36", "1001", "2"]])
            // The euro price of the free app is not zero.
            #expect(all.contains(["143443", "36", "1001", "1"]))
            // Today's purchase counts tomorrow.
            #expect(!all.contains { $0[0] == "143462" })
        }
    }

    @Test func anAppOfNoPriceIsNotRankedWhereItIsNotSold() async throws {
        try await FeedScene.with(.sqlite, [ItemSamples.item(1, .app, "One")]) { scene async throws in
            let rows = try FeedOtherTables(
                order: FeedOrder(.full, Self.wednesday, base: ""), reader: try scene.items.value.readers(1)[0],
                open: { try FeedRows($0, .relational, day: Self.wednesday, at: scene.folder.path + "/\($0.name)") },
                isStopped: {}
            ).ranks([
                FeedSales(
                    storefront: .unitedStates, items: [ItemSales(item: 1, count: 1), ItemSales(item: 2, count: 1)])
            ])
            #expect(rows.values.allSatisfy { $0.rows == 0 } && rows.count == 7)
        }
    }

    @Test func aPriceThatTheTypeCannotHoldIsCounted() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            let build = try await scene.desk.build(.full, day: Self.wednesday)
            #expect(build.pricesLeftOut == 1 && build.items == FeedSamples.all.count)
            let prices = try scene.table("video_price").rows
            #expect(!prices.contains { $0[4] == "143471" } && prices.count > 100)
        }
    }

    @Test func aCatalogThatChangesDuringABuildDoesNotMix() async throws {
        let scenes = Mutex<[FeedScene]>([])
        try await FeedScene.with(.sqlite, FeedSamples.all) { step in
            guard step == .filesOpened, let scene = scenes.withLock({ $0.first }) else { return }
            try scene.change([FeedSamples.app(9)])
        } _: { scene async throws in
            scenes.withLock { $0 = [scene] }
            try await scene.desk.build(.full, day: Self.wednesday)
            #expect(try scene.table("application").rows.map { $0[1] } == ["1000", "1001"])
            scenes.withLock { $0 = [] }
            // The next build has the new one, and an incremental feed finds it.
            try await scene.desk.build(.incremental, day: Self.wednesday)
            let path = "/feeds/epf/v5/current/incremental/current/"
            #expect(try scene.table("application", path).rows.map { $0[1] } == ["9"])
        }
    }

    @Test func aDayReadsAndPrints() {
        #expect(FeedDay("20260107") == Self.wednesday && FeedDay("2026-01-07") == Self.wednesday)
        #expect(Self.wednesday.description == "20260107" && Self.wednesday.milliseconds == 1_767_744_000_000)
        for text in ["", "2026017", "20260230", "2026-1-07", "2026-01-7x", "202-60107", "２０２６０１０７", "20261301"] {
            #expect(FeedDay(text) == nil, "\(text)")
        }
        for offset in 0..<7 { #expect(Self.day(offset).lastWednesday == Self.wednesday) }
        #expect(FeedDay(milliseconds: -1).description == "19691231")
    }

    @Test func feedsAreDueByTheStoresClock() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            let clock = scene.test.clock
            func due() -> String { scene.desk.due().map { "\($0.mode) \($0.day)" } ?? "none" }
            func build() async throws {
                let order = try #require(scene.desk.due())
                try await scene.desk.build(order.mode, day: order.day)
            }
            // A Tuesday.
            #expect(due() == "full 20260203")
            try await build()
            #expect(due() == "none")
            clock.milliseconds += 86_400_000
            #expect(due() == "full 20260204")
            try await build()
            for day in 5...10 {
                clock.milliseconds += 86_400_000
                #expect(due() == "incremental 202602\(day < 10 ? "0" : "")\(day)")
                try await build()
                #expect(due() == "none")
            }
            clock.milliseconds += 86_400_000
            #expect(due() == "full 20260211")
            // A clock that was set back asks for nothing until it has passed the last full feed.
            clock.milliseconds -= 30 * 86_400_000
            #expect(due() == "none")
        }
    }

    @Test func anIncrementalFeedNeedsAFullOneBefore() async throws {
        try await FeedScene.with(.sqlite, FeedSamples.all) { scene async throws in
            let desk = scene.desk
            #expect(try await refusal { try await desk.build(.incremental) } == .wrongState)
            try await desk.build(.full, day: Self.day(1))
            #expect(try await refusal { try await desk.build(.incremental, day: Self.wednesday) } == .wrongState)
            #expect(try await desk.build(.incremental, day: Self.day(1)).items == 0)
            await desk.close()
            await #expect(throws: CancellationError.self) { try await desk.build(.full) }
        }
    }

    @Test func oneFeedIsBuiltAtATime() async throws {
        let (reached, reach) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        try await FeedScene.with(.sqlite, FeedSamples.all) { step in
            guard step == .folderMade else { return }
            reach.yield()
            gate.wait()
        } _: { scene async throws in
            let (ended, end) = AsyncStream.makeStream(of: Bool.self)
            try scene.desk.start(.full, day: Self.wednesday) { result in
                end.yield((try? result.get()) != nil)
            }
            for await _ in reached { break }
            #expect(scene.desk.state.isBuilding)
            #expect(try await refusal { try await scene.desk.build(.full) } == .wrongState)
            gate.signal()
            for await hasBuilt in ended {
                #expect(hasBuilt && scene.desk.builds.count == 1 && !scene.desk.state.isBuilding)
                break
            }
        }
    }

    @Test func manyItemsAreSharedBetweenWorkers() async throws {
        let items = (1...20_001).map { ItemSamples.item(Int64($0), .book, "Book") }
        try await FeedScene.with(.sqlite, items) { scene async throws in
            let build = try await scene.desk.build(.full, day: Self.wednesday)
            #expect(build.items == 20_001)
            let found = try #require(scene.desk.shelf.all["/feeds/epf-flat/v1/full/usa/ebook-usa20260107.tbz"])
            let entries = try FeedReader.entries(ofArchive: [UInt8](Data(contentsOf: found.url)))
            let rows = try FeedReader(name: "ebook", flat: entries[0].bytes).rows
            #expect(Set(rows.map { $0[0] }) == Set(items.map { String($0.number) }))
            var changed = items
            changed[3].texts[0].name = "Other"
            changed[20_000].texts[0].name = "Other"
            try scene.change(changed)
            #expect(try await scene.desk.build(.incremental, day: Self.day(1)).items == 2)
        }
    }
}
