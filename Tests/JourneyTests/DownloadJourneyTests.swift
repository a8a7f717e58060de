import Crypto
import Foundation
import StoreServer
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Hosted content, from the developer's folder to the app's shelf", .serialized, .timeLimit(.minutes(5)))
struct DownloadJourneyTests {
    /// Bytes of the chapter in each package.
    private static let size = 300_000

    /// Builds a package of the product and uploads it.
    private static func publish(_ product: String, _ version: String, to store: JourneyStore) async throws {
        let bytes = try SampleContent.package(product, version, size: size)
        let digest = SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let base = "\(store.addresses.control)/control/v1/content"
        let new = ControlAPI.NewContentUpload(
            bundleId: JourneyStore.bundleID.rawValue, productId: product, length: Int64(bytes.count), sha256: digest)
        let begun = try await store.send("POST", "\(base)/uploads", Array(try JSONEncoder().encode(new)))
        let upload = try JSONDecoder().decode(ControlAPI.ContentUpload.self, from: Data(begun.body))
        let sent = try await store.send("PATCH", "\(base)/uploads/\(upload.uploadId)?offset=0", bytes)
        try #require(sent.status == 200, "\(String(decoding: sent.body, as: UTF8.self))")
        let done = try await store.send("POST", "\(base)/uploads/\(upload.uploadId)/complete", Array("{}".utf8))
        try #require(done.status == 200, "\(String(decoding: done.body, as: UTF8.self))")
    }

    private static func host(_ products: [String], at store: JourneyStore) async throws {
        for product in products {
            let body = #"{"bundleId":"\#(JourneyStore.bundleID)","productId":"\#(product)","hosted":true}"#
            let url = "\(store.addresses.control)/control/v1/content/hosting"
            try #require(try await store.send("PUT", url, Array(body.utf8)).status == 200)
        }
    }

    private static func order(_ fault: String, at store: JourneyStore) async throws {
        try #require(try await store.control("POST", "faults", fault).status / 100 == 2)
    }

    @Test(arguments: Backend.available)
    func `bought, cut, killed, the store restarted, finished, restored elsewhere, and updated`(
        _ backend: Backend
    ) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await Self.host(["hats"], at: store)
            let device = try await JourneyDevice(store)
            try await Self.publish("hats", "1.0", to: store)
            let shelf = try ContentShelf(folder: device.folder.appendingPathComponent("shelf"))

            // Killed when something has come: each cut lets some bytes through, or none.
            try await Self.order(#"{"operation":"download","cutAfter":100000,"count":3}"#, at: store)
            try await Self.order(#"{"operation":"download","status":503,"count":30}"#, at: store)
            var engine = device.launch()
            var app = ContentApp(SKPaymentQueue(engine: engine), shelf: nil)
            app.queue.add(payment("hats"))
            await app.until { $0.contains { $0.received > 0 } }
            await engine.stop()
            #expect(try device.journal().count == 1)

            // The store is away for a while, and the app goes on by itself when it is back.
            await store.stop()
            engine = device.launch()
            app = ContentApp(SKPaymentQueue(engine: engine), shelf: shelf)
            await app.until { _ in app.queue.transactions.contains { !$0.downloads.isEmpty } }
            try await store.start()
            await app.until { _ in shelf.newest(of: "hats") != nil && app.queue.transactions.isEmpty }
            #expect(try chapter(shelf) == ["1.0", "\(Self.size)"])
            await engine.stop()
            #expect(try await device.ledger().payments.count == 1)
            #expect(try await device.ledger().transactions.map(\.isFinished) == [true])

            // Another device restores, and nothing is downloaded until it asks.
            let second = JourneyDevice(beside: device, name: "b")
            let secondShelf = try ContentShelf(folder: second.folder.appendingPathComponent("shelf"))
            engine = second.launch()
            app = ContentApp(SKPaymentQueue(engine: engine), shelf: secondShelf, startsAll: false)
            app.queue.restoreCompletedTransactions()
            await app.untilRestored()
            let downloads = app.queue.transactions.flatMap(\.downloads)
            #expect(downloads.map(\.state) == [.waiting] && downloads.map(\.contentVersion) == ["1.0"])
            app.queue.start(downloads)
            await app.until { _ in app.queue.transactions.isEmpty }
            #expect(try chapter(secondShelf) == ["1.0", "\(Self.size)"])

            // A newer version comes while the older is there.
            try await Self.publish("hats", "1.1", to: store)
            let offered = try await engine.products(["hats"]).get().products.map { SKProduct($0) }
            #expect(offered.map(\.downloadContentVersion) == ["1.1"])
            let outdated = secondShelf.outdated(among: offered)
            let items = try await ContentUpdater(shelf: secondShelf, queue: app.queue).update(outdated)
            #expect(items.map(\.version) == ["1.1"])
            #expect(secondShelf.versions(of: "hats").map(\.version) == ["1.0", "1.1"])
            await app.until { _ in app.queue.transactions.isEmpty }
            await engine.stop()
        }
    }

    @Test(arguments: Backend.available)
    func `a lie, a cut and an address that expired`(_ backend: Backend) async throws {
        try await JourneyStore.with(backend) { store async throws in
            try await Self.host(["hats"], at: store)
            let device = try await JourneyDevice(store)
            try await Self.publish("hats", "1.0", to: store)
            let engine = device.launch()
            let app = ContentApp(SKPaymentQueue(engine: engine), shelf: nil, startsAll: false)
            app.queue.add(payment("hats"))
            await app.until { _ in app.queue.transactions.contains { !$0.downloads.isEmpty } }
            let download = try #require(app.queue.transactions.first?.downloads.first)

            try await Self.order(#"{"operation":"content","lie":"digest","count":1}"#, at: store)
            app.queue.start([download])
            await app.until { $0.last?.state == .failed }
            let error = try #require(download.error as? SKError)
            #expect(
                (error.errorUserInfo[NSUnderlyingErrorKey] as? NSError)?.code
                    == CocoaError.fileReadCorruptFile.rawValue)

            // Cut after its first bytes; by the time it goes on, the address is old.
            try await Self.order(#"{"operation":"download","cutAfter":100000,"count":1}"#, at: store)
            try await Self.order(#"{"operation":"download","status":403,"count":1}"#, at: store)
            app.queue.start([download])
            await app.until { $0.last?.state == .finished }
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

/// An app that starts all downloads it is told of, or not, and puts them on its shelf, if it has one.
// @unchecked: all is in a Mutex or constant.
private final class ContentApp: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    struct Heard: Sendable {
        var state: SKDownloadState
        var received: Int64
    }

    let queue: SKPaymentQueue
    private let shelf: ContentShelf?
    private let startsAll: Bool
    private let heard = Mutex<[Heard]>([])
    private let restores = Mutex(0)

    init(_ queue: SKPaymentQueue, shelf: ContentShelf?, startsAll: Bool = true) {
        self.queue = queue
        self.shelf = shelf
        self.startsAll = startsAll
        super.init()
        queue.add(self)
    }

    func until(_ isSo: ([Heard]) -> Bool) async {
        while !Task.isCancelled, !isSo(heard.withLock { $0 }) { await Task.yield() }
    }

    func untilRestored() async { await until { _ in restores.withLock { $0 } > 0 } }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        if startsAll { queue.start(transactions.flatMap(\.downloads)) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            let received = Int64(Double(download.progress) * Double(download.expectedContentLength))
            heard.withLock { $0.append(Heard(state: download.state, received: received)) }
            if download.state == .finished, let shelf, (try? shelf.install(download)) != nil {
                queue.finishTransaction(download.transaction)
            }
        }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) { restores.withLock { $0 += 1 } }
}
