import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("The shelf of hosted content", .timeLimit(.minutes(1)))
struct ContentShelfTests {
    private func content(_ directory: TemporaryDirectory, _ version: String, product: String = "a.book") throws -> URL {
        let folder = directory.url.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("Contents/pictures"), withIntermediateDirectories: true)
        try Data("text of \(version)".utf8).write(to: folder.appendingPathComponent("Contents/text"))
        let info = ["IAPProductIdentifier": product, "ContentVersion": version]
        try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0).write(
            to: folder.appendingPathComponent("ContentInfo.plist"))
        return folder
    }

    @Test func `versions are kept side by side and compared number by number`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let shelf = try ContentShelf(folder: directory.url.appendingPathComponent("shelf"))
            #expect(shelf.newest(of: "a.book") == nil)
            for version in ["1.9", "1.10", "1.2"] { try shelf.install(contentAt: try content(directory, version)) }
            #expect(shelf.versions(of: "a.book").map(\.version) == ["1.2", "1.9", "1.10"])
            let newest = try #require(shelf.newest(of: "a.book"))
            #expect(
                try String(contentsOf: newest.contents.appendingPathComponent("text"), encoding: .utf8)
                    == "text of 1.10")
            // The same again, however written, changes nothing.
            #expect(try shelf.install(contentAt: try content(directory, "1.10.0")) == newest)
            try shelf.removeOlderVersions(of: "a.book")
            #expect(shelf.versions(of: "a.book") == [newest])
            try shelf.remove(newest)
            try shelf.remove(newest)
            #expect(shelf.versions(of: "a.book").isEmpty)
        }
    }

    @Test func `a folder without content is refused, and nothing is left`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let shelf = try ContentShelf(folder: directory.url.appendingPathComponent("shelf"))
            let before = try FileManager.default.contentsOfDirectory(atPath: shelf.folder.path)
            let empty = directory.url.appendingPathComponent("empty")
            try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
            #expect(throws: ContentShelfError.self) { try shelf.install(contentAt: empty) }
            #expect(throws: ContentShelfError.self) { try shelf.install(contentAt: try content(directory, "one")) }
            do {
                try shelf.install(SKDownload())
                Issue.record("it was installed")
            } catch {
                #expect((error as? ContentShelfError)?.code == .notFinished)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: shelf.folder.path) == before)
        }
    }

    @Test func `a product identifier that leads outside the folder is refused`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let shelf = try ContentShelf(folder: directory.url.appendingPathComponent("shelf"))
            let elsewhere = try content(directory, "1", product: "../../etc")
            #expect(throws: ContentShelfError.self) { try shelf.install(contentAt: elsewhere) }
            #expect(shelf.newest(of: "../../etc") == nil)
        }
    }

    @Test func `the shelf is kept out of backups`() async throws {
        try await TemporaryDirectory.with { directory async throws in
            let shelf = try ContentShelf(folder: directory.url.appendingPathComponent("shelf"))
            let tag = try String(
                contentsOf: shelf.folder.appendingPathComponent("CACHEDIR.TAG"), encoding: .utf8)
            #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
            let marks = BackupExclusion.exclude(shelf.folder)
            #expect(marks.contains(.cacheTag))
            let attributes = try FileManager.default.attributesOfItem(atPath: shelf.folder.path)
            let extended = attributes[FileAttributeKey("NSFileExtendedAttributes")] as? [String: Data]
            #expect((extended?[BackupExclusion.attribute] == Data("false".utf8)) == marks.contains(.extendedAttribute))
            // Somebody's own file of that name is left alone.
            let other = directory.url.appendingPathComponent("other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            try Data("mine".utf8).write(to: other.appendingPathComponent("CACHEDIR.TAG"))
            #expect(!BackupExclusion.exclude(other).contains(.cacheTag))
            // What was left when an app ended while it wrote the tag goes, and nothing else does.
            let third = directory.url.appendingPathComponent("third")
            try FileManager.default.createDirectory(at: third, withIntermediateDirectories: true)
            let others = ".other.\(UUID().uuidString)"
            // The second time the tag is there: another thread of that app had written it.
            for _ in 1...2 {
                for name in [".CACHEDIR.TAG.\(UUID().uuidString)", others] {
                    try Data().write(to: third.appendingPathComponent(name))
                }
                #expect(BackupExclusion.exclude(third).contains(.cacheTag))
                let left = try FileManager.default.contentsOfDirectory(atPath: third.path)
                #expect(left.sorted() == [others, "CACHEDIR.TAG"])
            }
        }
    }

    @Test func `a newer version comes through a restore while the older one stays`() async throws {
        try await DownloadScene.run(products: 2) { scene async throws in
            let shelf = try ContentShelf(folder: scene.device.folder.appendingPathComponent("shelf"))
            let engine = scene.launch()
            let queue = SKPaymentQueue(engine: engine)
            let first = DownloadObserver(onUpdate: { queue, download in
                guard download.state == .finished, (try? shelf.install(download)) != nil else { return }
                queue.finishTransaction(download.transaction)
            })
            queue.add(first)
            queue.add(DownloadScene.payment(1))
            try await until { !first.all.removed.isEmpty }
            queue.remove(first)
            let old = try #require(shelf.newest(of: DownloadScene.product(1).rawValue))
            #expect(old.version == "1.0")

            scene.host(1, version: "1.1")
            scene.device.store.change { state in
                for purchase in state.purchases.values {
                    if var transaction = purchase.response.transaction {
                        state.restorable.append(("account-1", transaction))
                        // Bought twice: the second arrives while the content of the first is downloaded.
                        transaction.transactionID = TransactionID(rawValue: transaction.transactionID.rawValue + 100)
                        state.restorable.append(("account-1", transaction))
                    }
                }
            }
            let offered = try await engine.products([DownloadScene.product(1).rawValue]).get().products.map {
                SKProduct($0)
            }
            let outdated = shelf.outdated(among: offered)
            #expect(outdated.count == 1)
            let items = try await ContentUpdater(shelf: shelf, queue: queue).update(outdated)
            #expect(items.map(\.version) == ["1.1"])
            #expect(shelf.versions(of: DownloadScene.product(1).rawValue).map(\.version) == ["1.0", "1.1"])
            #expect(shelf.outdated(among: offered).isEmpty)
            #expect(FileManager.default.fileExists(atPath: old.contents.appendingPathComponent("chapter.txt").path))
            try await until { queue.transactions.isEmpty }
            await engine.stop()
        }
    }

    /// Answers the second restore when what the first one brought is finished, so that it comes again.
    private struct LateStore: StoreTransport {
        let store: FakeStore

        func send(_ request: StoreTransportRequest) async throws -> StoreTransportResponse {
            if case .restores = request.route, store.asked.contains("restores") {
                // After the purchase.
                try await until { store.finished.count == 2 }
            }
            return try await store.send(request)
        }
    }

    @Test(arguments: [false, true])
    func `one updater runs one update at a time, and resumes a stopped update`(isRestoreLate: Bool) async throws {
        try await DownloadScene.run { scene async throws in
            let shelf = try ContentShelf(folder: scene.device.folder.appendingPathComponent("shelf"))
            let engine = scene.launch(transport: isRestoreLate ? LateStore(store: scene.device.store) : nil)
            let queue = SKPaymentQueue(engine: engine)
            let observer = DownloadObserver(startsAll: false)
            queue.add(observer)
            queue.add(DownloadScene.payment(1))
            try await until { !observer.downloads.isEmpty }
            queue.finishTransaction(observer.all.transactions[0])
            try await until { queue.transactions.isEmpty }
            scene.device.store.change { state in
                for purchase in state.purchases.values {
                    if let transaction = purchase.response.transaction {
                        state.restorable.append(("account-1", transaction))
                    }
                }
            }
            let offered = try await engine.products([DownloadScene.product(1).rawValue]).get().products
            let shop: @Sendable () -> [SKProduct] = { offered.map { SKProduct($0) } }
            scene.server.trouble(.silent(after: 70_000))
            let updater = ContentUpdater(shelf: shelf, queue: queue)
            let stopped = Task { try await updater.update(shop()) }
            try await until { (queue.transactions.first?.downloads.first?.progress ?? 0) >= 0.35 }
            await #expect(throws: ContentShelfError(.busy, "the updater is at work; wait for it, or make another")) {
                try await updater.update(shop())
            }
            stopped.cancel()
            #expect(try await stopped.value.isEmpty)
            try await until { queue.transactions.first?.downloads.first?.state == .paused }
            #expect(try await updater.update(shop()).map(\.version) == ["1.0"])
            #expect(scene.server.ranges == ["-", "bytes=70000-"])
            try await until { queue.transactions.isEmpty }
            await engine.stop()
        }
    }

    @Test func `a failed update has a reason, and the older version stays`() async throws {
        try await DownloadScene.run { scene async throws in
            let shelf = try ContentShelf(folder: scene.device.folder.appendingPathComponent("shelf"))
            let engine = scene.launch()
            let queue = SKPaymentQueue(engine: engine)
            let product = SKProduct(
                ProductDescription(
                    productID: DownloadScene.product(1), kind: .nonConsumable, displayName: "", description: "",
                    price: FakeStore.price, priceLocale: "en_US", isFamilyShareable: false, subscription: nil,
                    content: HostedContent(version: "2.0", lengths: [1])))
            // Nothing was ever bought: a restore brings nothing.
            #expect(try await ContentUpdater(shelf: shelf, queue: queue).update([product]).isEmpty)
            scene.device.store.failNext(
                "restores", .refusal(422, WireError(code: .accountLocked, message: "Locked.")))
            do {
                _ = try await ContentUpdater(shelf: shelf, queue: queue).update([product])
                Issue.record("it was updated")
            } catch {
                #expect((error as? ContentShelfError)?.code == .notRestored)
            }
            await engine.stop()
        }
    }
}
