import Foundation
import TestSupport
import Testing

@testable import StoreKit

@Suite("Hosted content, from the developer's folder to the app's shelf", .serialized, .timeLimit(.minutes(1)))
struct DownloadJourneyTests {
    private static func order(_ fault: String, at store: JourneyStore) async throws {
        try #require(try await store.control("POST", "faults", fault).status / 100 == 2)
    }

    @Test(arguments: Backend.available)
    func `bought, cut, killed, the store restarted, finished, restored elsewhere, and updated`(
        _ backend: Backend
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await store.host("hats")
            let device = try await JourneyDevice(store)
            try await store.publish("hats", "1.0")
            let shelf = try ContentShelf(folder: device.folder.appendingPathComponent("shelf"))

            // Killed when something has come: each cut lets some bytes through, or none.
            try await Self.order(#"{"operation":"download","cutAfter":100000,"count":3}"#, at: store)
            try await Self.order(#"{"operation":"download","status":503,"count":30}"#, at: store)
            var engine = device.launch()
            var app = ContentApp(SKPaymentQueue(engine: engine), shelf: nil)
            app.queue.add(payment("hats"))
            try await app.until { $0.contains { $0.received > 0 } }
            await engine.stop()
            #expect(try device.journal().count == 1)

            // The store is away for a while, and the app goes on by itself when it is back.
            await store.stop()
            engine = device.launch()
            app = ContentApp(SKPaymentQueue(engine: engine), shelf: shelf)
            try await app.until { _ in app.queue.transactions.contains { !$0.downloads.isEmpty } }
            try await store.start()
            try await app.until { _ in shelf.newest(of: "hats") != nil && app.queue.transactions.isEmpty }
            #expect(try chapter(shelf) == ["1.0", "\(JourneyStore.chapterSize)"])
            await engine.stop()
            #expect(try await device.ledger().payments.count == 1)
            #expect(try await device.ledger().transactions.map(\.isFinished) == [true])

            // Another device restores, and nothing is downloaded until it asks.
            let second = JourneyDevice(beside: device, name: "b")
            let secondShelf = try ContentShelf(folder: second.folder.appendingPathComponent("shelf"))
            engine = second.launch()
            app = ContentApp(SKPaymentQueue(engine: engine), shelf: secondShelf, startsAll: false)
            app.queue.restoreCompletedTransactions()
            try await app.untilRestored()
            let downloads = app.queue.transactions.flatMap(\.downloads)
            #expect(downloads.map(\.state) == [.waiting] && downloads.map(\.contentVersion) == ["1.0"])
            app.queue.start(downloads)
            try await app.until { _ in app.queue.transactions.isEmpty }
            #expect(try chapter(secondShelf) == ["1.0", "\(JourneyStore.chapterSize)"])

            // A newer version comes while the older is there.
            try await store.publish("hats", "1.1")
            let offered = try await engine.products(["hats"]).get().products.map { SKProduct($0) }
            #expect(offered.map(\.downloadContentVersion) == ["1.1"])
            let outdated = secondShelf.outdated(among: offered)
            let items = try await ContentUpdater(shelf: secondShelf, queue: app.queue).update(outdated)
            #expect(items.map(\.version) == ["1.1"])
            #expect(secondShelf.versions(of: "hats").map(\.version) == ["1.0", "1.1"])
            try await app.until { _ in app.queue.transactions.isEmpty }
            await engine.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a false length, a lost connection and an expired address`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await store.host("hats")
            let device = try await JourneyDevice(store)
            try await store.publish("hats", "1.0")
            let engine = device.launch()
            let app = ContentApp(SKPaymentQueue(engine: engine), shelf: nil, startsAll: false)
            app.queue.add(payment("hats"))
            try await app.until { _ in app.queue.transactions.contains { !$0.downloads.isEmpty } }
            let download = try #require(app.queue.transactions.first?.downloads.first)

            try await Self.order(#"{"operation":"content","lie":"digest","count":1}"#, at: store)
            app.queue.start([download])
            try await app.until { $0.last?.state == .failed }
            let error = try #require(download.error as? SKError)
            #expect(
                (error.errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.code
                    == CocoaError.fileReadCorruptFile.rawValue)

            // Cut after its first bytes; by the time it goes on, the address is old.
            try await Self.order(#"{"operation":"download","cutAfter":100000,"count":1}"#, at: store)
            try await Self.order(#"{"operation":"download","status":403,"count":1}"#, at: store)
            app.queue.start([download])
            try await app.until { $0.last?.state == .finished }
            #expect(download.contentURL.map { FileManager.default.fileExists(atPath: $0.path) } == true)
            await engine.stop()
        }
    }

    /// The version on the shelf, and how many bytes its chapter has.
    private func chapter(_ shelf: ContentShelf) throws -> [String] {
        let item = try #require(shelf.newest(of: "hats"))
        let bytes = try Data(contentsOf: item.contents.appendingPathComponent("chapter.txt"))
        return [item.version, "\(bytes.count)"]
    }
}
