import CornerstoreSQLite
import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Downloads, killed at every step", .timeLimit(.minutes(1)))
struct DownloadCrashTests {
    /// All steps, in parts that take a few seconds each. Every run has twelve: save, update, transfer, tick, granted,
    /// save, wait, granted, downloaded, unpacked, save, update, and often discard.
    @Test(arguments: [1...3, 4...6, 7...9, 10...12, 13...60])
    func `a kill at any step ends, after relaunch, in the content and an empty journal`(
        _ part: ClosedRange<Int>
    ) async throws {
        var kills = 0
        for step in part {
            let wasKilled = Mutex(false)
            try await DownloadScene.run { scene async throws in
                scene.server.trouble(.cut(after: 90_000))
                let reached = Mutex(0)
                let engine = scene.launch(mayPass: { _ in
                    let now = reached.withLock { count in
                        count += 1
                        return count
                    }
                    if now == step { wasKilled.withLock { $0 = true } }
                    return now != step
                })
                let observer = DownloadObserver()
                engine.queue(with: observer, buying: 1)
                try await until { wasKilled.withLock { $0 } || observer.words.last == "1 finished" }
                await engine.stop()
                try await Self.goOn(scene)
            }
            if wasKilled.withLock({ $0 }) { kills += 1 } else { break }
        }
        #expect(kills >= (part.lowerBound > 12 ? 0 : part.count))
    }

    /// The next launch, of an app that starts all it meets and finishes what is finished.
    private static func goOn(_ scene: DownloadScene) async throws {
        let engine = scene.launch()
        let queue = SKPaymentQueue(engine: engine)
        let chapters = Mutex<[String]>([])
        let observer = DownloadObserver(onUpdate: { queue, download in
            guard download.state == .finished, let content = download.contentURL else { return }
            let text = try? String(contentsOf: content.appendingPathComponent("Contents/chapter.txt"), encoding: .utf8)
            chapters.withLock { $0.append(text ?? "nothing") }
            queue.finishTransaction(download.transaction)
        })
        queue.add(observer)
        try await until { !observer.all.removed.isEmpty }
        #expect(chapters.withLock { $0 } == ["Once upon a time, 1.0"])
        await engine.stop()
        let last = scene.launch()
        #expect(scene.files == ["content", "downloads"])
        await last.stop()
        let folder = try DeviceFolder(scene.device.folder).bundleFolder(of: BundleID(TestDevice.bundleID))
        let journal = try SQLitePaymentJournal(folder: folder, name: "sandbox.journal") { _ in }
        #expect(try journal.loadDownloads().isEmpty)
        #expect(try journal.load().isEmpty)
        journal.close()
    }

    @Test func `an active download resumes automatically after a relaunch`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.silent(after: 70_000))
            let engine = scene.launch()
            let observer = DownloadObserver()
            engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) >= 0.35 }
            await engine.stop()

            let again = scene.launch()
            // Nobody is there to be told: nothing goes on.
            #expect(scene.server.ranges == ["-"])
            let next = DownloadObserver(startsAll: false)
            again.queue(with: next)
            try await until { next.words.last == "1 finished" }
            #expect(next.words == ["1 active", "1 finished"])
            #expect(next.all.progress.first == 0.35)
            #expect(scene.server.ranges == ["-", "bytes=70000-"])
            await again.stop()
        }
    }

    @Test func `paused and finished downloads keep their state over a relaunch`() async throws {
        try await DownloadScene.run(products: 2) { scene async throws in
            scene.server.trouble(.silent(after: 70_000))
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) >= 0.35 }
            queue.pause(observer.downloads)
            try await until { observer.words.last == "1 paused" }
            queue.add(DownloadScene.payment(2))
            try await until { observer.words.last == "2 finished" }
            await engine.stop()

            let again = scene.launch()
            let next = DownloadObserver(startsAll: false)
            let nextQueue = again.queue(with: next)
            try await until { next.downloads.count == 2 }
            let paused = try #require(next.downloads.first { $0.contentIdentifier.hasSuffix("1") })
            let finished = try #require(next.downloads.first { $0.contentIdentifier.hasSuffix("2") })
            #expect(paused.state == .paused && paused.progress == 0.35)
            #expect(finished.state == .finished && finished.contentURL != nil)
            #expect(next.words.isEmpty)
            nextQueue.resume([paused])
            try await until { next.words.last == "1 finished" }
            await again.stop()
        }
    }

    @Test func `content that was cleared from the caches can be downloaded again`() async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let observer = DownloadObserver()
            engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 finished" }
            await engine.stop()
            try FileManager.default.removeItem(
                at: scene.device.folder.appendingPathComponent("apps/\(TestDevice.bundleID)/caches"))
            let again = scene.launch()
            let next = DownloadObserver()
            again.queue(with: next)
            try await until { next.words.last == "1 finished" }
            #expect(next.downloads.first?.contentURL != nil)
            await again.stop()
        }
    }

    @Test func `journals of earlier versions can be read, and one of a later version is refused`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var entry = PaymentQueueEntry(
            key: TestDevice.key(1), position: 1, payment: PaymentValues(productIdentifier: "a"), phase: .purchased)
        // A text stays, whatever name is in it.
        entry.payment.applicationUsername = #"{"productID":1}"#
        entry.payment.offer = SignedOffer(offerID: "o", keyID: "k", nonce: UUID(), signature: "s", timestamp: 1)
        entry.transaction = TransactionDescription(
            transactionID: TransactionID(rawValue: 2), originalTransactionID: TransactionID(rawValue: 1),
            bundleID: "b", productID: "a", kind: .consumable, quantity: 1, purchaseDate: 1, originalPurchaseDate: 1,
            expiresDate: nil, applicationUsername: nil, idempotencyKey: nil)
        // As version 2 made it.
        let old = try SQLiteConnection(path: folder.appendingPathComponent("old").path, .create)
        try old.run(
            """
            CREATE TABLE entry (
                key TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL
            ) WITHOUT ROWID
            """)
        try old.run("PRAGMA user_version = 2")
        let insertion = try old.statement("INSERT INTO entry (key, position, body) VALUES (?, 1, ?)")
        try insertion.bind(entry.key.uuidString, at: 1)
        let body = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
        let oldBody = body.replacing(/"(\w+)Id":/) { "\"\($0.1)ID\":" }
        #expect(oldBody != body)
        try insertion.bind([UInt8](oldBody.utf8), at: 2)
        try insertion.run()
        old.close()
        let journal = try SQLitePaymentJournal(folder: folder, name: "old") { _ in }
        #expect(try journal.load() == [entry])
        let download = DownloadEntry(
            id: TransactionID(rawValue: 7), productID: "a", account: "me", phase: .paused, version: "1.0", length: 5)
        try journal.save(downloads: [download])
        #expect(try journal.loadDownloads() == [download])
        // One that cannot be read is as if it were not there.
        try journal.database.withLock { try $0.run("INSERT INTO download (id, body) VALUES (8, 'nonsense')") }
        #expect(try journal.loadDownloads() == [download])
        try journal.forget(downloads: [download.id])
        #expect(try journal.loadDownloads().isEmpty)
        journal.close()
    }
}
