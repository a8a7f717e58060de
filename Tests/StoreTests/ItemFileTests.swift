import BlobStorage
import Crypto
import Database
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import Store

/// A store with a book (901), an album (910) of two songs (911, 912), and their files in a folder.
private struct Shop: Sendable {
    let test: TestStore
    let folder: URL
    let imports: Counter
    let room: Room

    static func with(_ backend: Backend, _ body: @Sendable (Shop) async throws -> Void) async throws {
        try await TemporaryDirectory.with { directory async throws in
            try await backend.withTestDatabases { database, apps async throws in
                let staging = directory.url.appendingPathComponent("uploads")
                try FileManager.default.createDirectory(at: staging, withIntermediateDirectories: true)
                let (imports, room) = (Counter(), Room())
                let content = try await ContentLibrary.open(
                    StoreDatabases(apps: apps, sandbox: database, production: database),
                    blobs: try DirectoryBlobStore(folder: directory.url.appendingPathComponent("packages")),
                    staging: staging
                ) { _ in
                    imports.add()
                    return room.value
                }
                let test = try await TestStore.open(database, apps: apps, clock: TestClock(), content: content)
                let shop = Shop(test: test, folder: directory.url, imports: imports, room: room)
                for (number, text) in [(901, "A book."), (911, "La la."), (912, "Do re mi.")] {
                    try shop.write(Int64(number), text)
                }
                try shop.sell()
                try await body(shop)
            }
        }
    }

    func file(_ item: Int64) -> URL { folder.appendingPathComponent("\(item).pdf") }

    /// Writes an item's file, with a modification time of its own.
    func write(_ item: Int64, _ text: String, modified: Double = 1_700_000_000) throws {
        try Data(text.utf8).write(to: file(item))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: modified)], ofItemAtPath: file(item).path)
    }

    /// Puts the items into the catalog.
    func sell(without removed: Set<Int64> = []) throws {
        var album = ItemSamples.item(910, .album, "Canopy")
        album.prices = CatalogPrices(amount: 9_990, byStorefront: [:], byCurrency: [:])
        let pieces = ([911, 912] as [Int64]).map { number in
            var song = ItemSamples.item(number, .song, "Song \(number)")
            song.place = ItemPlace(collection: 910, track: Int(913 - number))
            return song
        }
        let items = ([ItemSamples.item(901, .book, "Book")] + pieces).map { item in
            var item = item
            item.file = ItemFile(path: file(item.number).path, mediaType: "application/pdf", length: 7)
            item.prices = CatalogPrices(amount: 990, byStorefront: [:], byCurrency: [:])
            return item
        }
        test.store.catalog.replace(
            with: try Catalog(
                apps: try TestStore.catalog().apps, items: (items + [album]).filter { !removed.contains($0.number) }))
    }

    @discardableResult
    func buy(_ item: Int64, _ account: Account) async throws -> ItemPurchase {
        try await test.store.buyItem(ItemPurchaseRequest(item: item, idempotencyKey: UUID()), by: account)
    }

    /// The text that the store delivers for a grant.
    func text(_ grant: ContentGrant) async throws -> String? {
        let query = try #require(URLComponents(string: grant.url)?.queryItems)
        func value(_ name: String) throws -> String { try #require(query.first { $0.name == name }?.value) }
        let digest = try #require(BlobDigest(grant.sha256))
        let (length, blobs) = try await test.store.contentBlob(
            digest, expires: try #require(Int64(try value("expires"))),
            transactionID: try #require(TransactionID(try value("transaction"))), signature: try value("signature"))
        #expect(length == grant.length)
        var bytes: [UInt8] = []
        for try await piece in try await blobs.bytes(of: digest, in: 0..<length) {
            bytes += Array(piece.readableBytesView)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func stagedFiles() -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("uploads/items").path))
            ?? []
    }

    func rows() async throws -> Int {
        try await test.store.content?.database.read { try ItemBlob.find([901, 911, 912], $0).count } ?? -1
    }
}

/// Counts calls.
private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}

/// The bytes that the disk has room for, which a test changes; nil for any number.
private final class Room: Sendable {
    private let room = Mutex<Int64?>(nil)
    var value: Int64? {
        get { room.withLock { $0 } }
        set { room.withLock { $0 = newValue } }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ItemFileTests {
    @Test(arguments: Backend.available) func aFileIsImportedOnceAndAgainAfterAChange(_ backend: Backend) async throws {
        try await Shop.with(backend) { shop async throws in
            let account = try await shop.test.account()
            try await shop.buy(901, account)
            let listed = try await shop.test.store.files(of: [901], in: .unitedStates)
            #expect(
                listed == [901: [ItemFileDescription(item: 901, title: "Book", name: "901.pdf", length: 7)]])

            // Eight requests at once, and later ones: one import.
            let grants = try await withThrowingTaskGroup(of: ContentGrant.self) { group in
                for _ in 0..<8 { group.addTask { try await shop.test.store.itemFileGrant(901, for: account) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let first = try #require(grants.first)
            #expect(Set(grants.map(\.sha256)).count == 1 && shop.imports.value == 1)
            #expect(first.contentID == "item.901" && first.length == 7)
            #expect(try await shop.text(first) == "A book.")
            #expect(
                try await shop.test.store.files(of: [901], in: .unitedStates)[901]?.first?.sha256 == first.sha256)

            // The same length and modification time: the bytes are not read again.
            try shop.write(901, "B book.")
            #expect(try await shop.test.store.itemFileGrant(901, for: account).sha256 == first.sha256)
            #expect(shop.imports.value == 1)
            try shop.write(901, "B book.", modified: 1_700_000_001)
            let second = try await shop.test.store.itemFileGrant(901, for: account)
            #expect(try await shop.text(second) == "B book.")
            // The earlier bytes are gone, and its address says so.
            await #expect(throws: StoreError.self) { try await shop.text(first) }
            #expect(shop.stagedFiles().isEmpty)
        }
    }

    @Test(arguments: Backend.available) func whatCannotBeImportedLeavesNothingBehind(_ backend: Backend) async throws {
        try await Shop.with(backend) { shop async throws in
            let account = try await shop.test.account()
            try await shop.buy(901, account)
            func problem() async throws -> String? {
                do {
                    _ = try await shop.test.store.itemFileGrant(901, for: account)
                    return nil
                } catch let problem as ItemFileProblem {
                    #expect(problem.path == shop.file(901).path && problem.refusal.code == .unavailable)
                    return problem.reason
                }
            }
            shop.room.value = 6
            #expect(try await problem()?.contains("has no room") == true)
            shop.room.value = nil
            try Data().write(to: shop.file(901))
            #expect(try await problem()?.contains("is empty") == true)
            try FileManager.default.removeItem(at: shop.file(901))
            #expect(try await problem()?.contains("no such file") == true)
            try FileManager.default.createDirectory(at: shop.file(901), withIntermediateDirectories: true)
            #expect(try await problem() != nil)
            #expect(shop.stagedFiles().isEmpty)
            #expect(try await shop.rows() == 0)
            // The item can still be shown, and sold.
            #expect(try await shop.test.store.files(of: [901], in: .unitedStates)[901]?.count == 1)

            try FileManager.default.removeItem(at: shop.file(901))
            try shop.write(901, "A book.")
            let grant = try await shop.test.store.itemFileGrant(901, for: account)
            // A file that is lost later, or an item that leaves the catalog, is still delivered to its owners.
            try FileManager.default.removeItem(at: shop.file(901))
            #expect(try await shop.test.store.itemFileGrant(901, for: account).sha256 == grant.sha256)
            try shop.sell(without: [901])
            #expect(try await shop.test.store.itemFileGrant(901, for: account).sha256 == grant.sha256)
            #expect(try await shop.test.store.files(of: [901], in: .unitedStates)[901]?.first?.name == "901.pdf")
        }
    }

    @Test(arguments: Backend.available) func theOwnerOfAnAlbumGetsItsSongs(_ backend: Backend) async throws {
        try await Shop.with(backend) { shop async throws in
            let account = try await shop.test.account()
            let store = shop.test.store
            #expect(try await refusal { try await store.itemFileGrant(911, for: account) } == .notOwned)
            let album = try await shop.buy(910, account)
            // In the order of the tracks, not of the numbers.
            #expect(
                try await store.files(of: [910], in: .unitedStates)[910]?.map(\.item) == [912, 911])
            #expect(try await shop.text(try await store.itemFileGrant(911, for: account)) == "La la.")
            #expect(try await refusal { try await store.itemFileGrant(910, for: account) } == .noContent)
            // Its songs are owned, and not paid again.
            #expect(try await store.ownedItem(912, by: account) == album)
            #expect(try await shop.buy(912, account) == album)
            #expect(try await store.ownedItems(of: account) == [album])

            let grant = try await store.itemFileGrant(912, for: account)
            // As a row from before the migration: the next delivery records the album.
            try await store.content?.database.write {
                try ItemBlob.place(911, in: nil, $0)
                try $0.execute("CREATE UNIQUE INDEX one_song ON item_files (collection)")
            }
            // Also a database that cannot record it does not hold up the file.
            #expect(try await shop.text(try await store.itemFileGrant(911, for: account)) == "La la.")
            try await store.content?.database.write { try $0.execute("DROP INDEX one_song") }
            _ = try await store.itemFileGrant(911, for: account)
            // Also when a song, or the album, has left the catalog.
            for removed in [[911], [910, 911, 912]] as [Set<Int64>] {
                try shop.sell(without: removed)
                #expect(try await shop.text(try await store.itemFileGrant(911, for: account)) == "La la.")
                let files = try await store.files(of: [910], in: .unitedStates)[910] ?? []
                #expect(files.map(\.item).sorted() == [911, 912] && files.last?.name == "\(files.last?.item ?? 0).pdf")
                // Only owners read of what has left the catalog.
                let shown = try await store.files(of: [910], in: .unitedStates, includesFormer: false)[910] ?? []
                #expect(shown.map(\.item) == (removed.contains(912) ? [] : [912]))
                let stranger = try await shop.test.account("stranger\(removed.count)@example.com")
                #expect(try await refusal { try await store.itemFileGrant(911, for: stranger) } == .notOwned)
            }
            try shop.sell(without: [911])
            let child = try await shop.test.account("child@example.com", asksToBuy: true)
            #expect(try await refusal { try await shop.buy(910, child) } == .awaitsApproval)
            #expect(try await refusal { try await store.itemFileGrant(911, for: child) } == .awaitsApproval)
            try shop.sell()
            _ = try await store.refundItem(album.transactionID, reason: .other)
            #expect(try await refusal { try await store.itemFileGrant(912, for: account) } == .notOwned)
            #expect(try await refusal { try await shop.text(grant) } == .forbidden)
            #expect(try await shop.buy(912, account).item == 912)
            #expect(try await shop.text(try await store.itemFileGrant(912, for: account)) == "Do re mi.")
        }
    }

    @Test(arguments: Backend.available) func bytesThatAnotherItemUsesStay(_ backend: Backend) async throws {
        try await Shop.with(backend) { shop async throws in
            let account = try await shop.test.account()
            try await shop.buy(910, account)
            try shop.write(912, "La la.")
            let one = try await shop.test.store.itemFileGrant(911, for: account)
            let two = try await shop.test.store.itemFileGrant(912, for: account)
            #expect(one.sha256 == two.sha256)
            try shop.write(912, "Fa so.", modified: 1_700_000_009)
            #expect(try await shop.test.store.itemFileGrant(912, for: account).sha256 != one.sha256)
            #expect(try await shop.text(one) == "La la.")
        }
    }
}
