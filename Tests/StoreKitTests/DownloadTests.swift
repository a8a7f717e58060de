import Foundation
import StoreWire
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

@Suite("Downloads", .timeLimit(.minutes(1)))
struct DownloadTests {
    @Test func `a product describes its downloadable content`() async throws {
        try await DownloadScene.run(length: 12_345) { scene async throws in
            let engine = scene.launch()
            let identifiers: Set = [DownloadScene.product(1).rawValue, "com.example.monkeys.credits5"]
            let answer = try await engine.products(identifiers).get()
            let products = answer.products.map { SKProduct($0) }
            let book = try #require(products.first { $0.isDownloadable })
            #expect(book.downloadContentLengths == [12_345] && book.contentLengths == [12_345])
            #expect(book.downloadContentVersion == "1.0" && book.contentVersion == "1.0" && book.downloadable)
            let credits = try #require(products.first { !$0.isDownloadable })
            #expect(credits.downloadContentLengths.isEmpty && credits.downloadContentVersion.isEmpty)
            await engine.stop()
        }
    }

    @Test func `bought, downloaded, unpacked, finished`() async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 finished" }
            #expect(observer.words == ["1 active", "1 finished"])
            let download = try #require(observer.downloads.first)
            #expect(observer.downloads.count == 1)
            #expect(download.transaction === observer.all.transactions.first)
            #expect(download.contentIdentifier == DownloadScene.product(1).rawValue)
            #expect(download.contentVersion == "1.0" && download.expectedContentLength == 200_000)
            #expect(download.contentLength == 200_000 && download.downloadState == .finished)
            #expect(download.progress == 1 && download.error == nil)
            let content = try #require(download.contentURL)
            #expect(content.path.hasPrefix(scene.device.folder.path))
            #expect(
                try String(contentsOf: content.appendingPathComponent("Contents/chapter.txt"), encoding: .utf8)
                    == "Once upon a time, 1.0")
            #expect(engine.downloads?.content(of: DownloadScene.product(1))?.path == content.path)
            try await until { !scene.files.contains { $0.contains(".pkg") } }
            queue.finishTransaction(download.transaction)
            try await until { !observer.all.removed.isEmpty }
            // The app may be copying still: it goes at the next launch.
            #expect(FileManager.default.fileExists(atPath: content.path))
            await engine.stop()
            let again = scene.launch()
            #expect(scene.files == ["content", "downloads"])
            #expect(again.downloads?.content(of: DownloadScene.product(1)) == nil)
            await again.stop()
        }
    }

    @Test func `a download that was not started has the version that the store hosts now`() async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let bought = DownloadObserver(startsAll: false)
            engine.queue(with: bought, buying: 1)
            try await until { !bought.downloads.isEmpty }
            await engine.stop()

            scene.host(1, version: "1.1", length: 300_000)
            scene.device.store.change { state in
                let content = state.hosted[DownloadScene.product(1)]?.content
                for id in state.unfinished.keys { state.unfinished[id]?.transaction.content = content }
            }
            scene.device.store.failNext("unfinished", .lostRequest)
            let timer = ManualTimer()
            let again = scene.launch(timer: timer)
            let observer = DownloadObserver(startsAll: false)
            again.queue(with: observer)
            try await until { !observer.downloads.isEmpty }
            let download = try #require(observer.downloads.first)
            #expect(download.contentVersion == "1.0")
            // Now the store answers.
            let retries = Task { while !Task.isCancelled { await timer.fire() } }
            defer { retries.cancel() }
            try await until { download.contentVersion == "1.1" }
            #expect(download.expectedContentLength == 300_000 && download.state == .waiting)
            #expect(observer.downloads.count == 1 && observer.words.isEmpty)
            await again.stop()
        }
    }

    @Test func `an app that keeps its content finds it by product, and deletes it`() async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let observer = DownloadObserver(finishesAll: true)
            engine.queue(with: observer, buying: 1)
            try await until { !observer.all.removed.isEmpty }
            await engine.stop()
            let again = scene.launch(configure: { $0.keepsContent = true })
            #expect(again.downloads?.content(of: DownloadScene.product(1)) != nil)
            again.downloads?.deleteContent(of: DownloadScene.product(1))
            #expect(again.downloads?.content(of: DownloadScene.product(1)) == nil)
            await again.stop()
        }
    }

    @Test func `progress and the remaining time are reported about once a second`() async throws {
        try await DownloadScene.run(length: 400_000) { scene async throws in
            scene.server.trouble(.silent(after: 100_000))
            let timer = ManualTimer()
            let clock = Mutex(0.0)
            let engine = scene.device.launch(
                timer: timer,
                downloading: DownloadBoundary(
                    unpack: DownloadScene.unpack,
                    now: {
                        clock.withLock { now in
                            now += 0.5
                            return now
                        }
                    }))
            let observer = DownloadObserver()
            engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 active" }
            #expect(observer.downloads.first?.timeRemaining == SKDownloadTimeRemainingUnknown)
            while !Task.isCancelled, observer.all.progress.last != 0.25 { await timer.fire() }
            #expect(timer.delays.allSatisfy { $0 == 1 })
            // As it was told first: each second of the silence makes the time longer, until it is unknown.
            let heard = observer.all
            let told = try #require(zip(heard.progress, heard.timesRemaining).first { $0.0 == 0.25 })
            #expect(told.1 > 0)
            scene.server.release()
            try await until { observer.words.last == "1 finished" }
            #expect(observer.all.timesRemaining.first == -1)
            await engine.stop()
        }
    }

    @Test func `a resumed download does not request the received bytes again`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.silent(after: 70_000))
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) >= 0.35 }
            queue.pause(observer.downloads)
            try await until { observer.words.last == "1 paused" }
            #expect(observer.downloads.first?.progress == 0.35)
            queue.resume(observer.downloads)
            try await until { observer.words.last == "1 finished" }
            #expect(scene.server.ranges == ["-", "bytes=70000-"])
            #expect(observer.words == ["1 active", "1 paused", "1 active", "1 finished"])
            // The version that was begun is asked for.
            #expect(scene.device.store.change { $0.contentRequests.map(\.version) } == [nil, "1.0"])
            await engine.stop()
        }
    }

    @Test func `a cancelled download leaves no files and can start again`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.silent(after: 70_000))
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) > 0 }
            let download = try #require(observer.downloads.first)
            queue.cancel([download])
            try await until { observer.words.last == "1 cancelled" }
            try await until { !scene.files.contains { $0.contains(".pkg") } }
            queue.start([download])
            try await until { observer.words.last == "1 finished" }
            #expect(scene.server.ranges == ["-", "-"])
            #expect(observer.downloads.first === download)
            await engine.stop()
        }
    }

    @Test func `a download survives a lost network`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.cut(after: 50_000), .status(503), .cut(after: 10_000))
            scene.device.store.failNext("content", .lostRequest)
            let engine = scene.launch()
            let observer = DownloadObserver()
            engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 finished" }
            // The last bytes before a cut may be lost on their way; what came is not asked for again.
            let starts = scene.server.ranges.map { Int($0.dropFirst("bytes=".count).dropLast()) ?? 0 }
            #expect(starts.count == 4 && starts == starts.sorted() && starts[1] > 0 && starts[1] == starts[2])
            #expect(observer.words == ["1 active", "1 finished"])
            await engine.stop()
        }
    }

    @Test func `an expired address is requested again`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.cut(after: 50_000), .status(403), .status(404), .cut(after: 50_000), .status(410))
            let engine = scene.launch()
            let observer = DownloadObserver()
            engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 finished" }
            #expect(scene.device.store.change { $0.contentRequests.count } == 6)
            await engine.stop()
        }
    }

    struct Lie: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var tell: @Sendable (DownloadScene) -> Void
        var underlying: CocoaError.Code?
    }

    static let lies = [
        Lie(
            testDescription: "another digest",
            tell: {
                $0.device.store.change {
                    $0.hosted[DownloadScene.product(1)]?.sha256 = String(repeating: "a", count: 64)
                }
            },
            underlying: .fileReadCorruptFile),
        Lie(
            testDescription: "a smaller length",
            tell: { $0.device.store.change { $0.hosted[DownloadScene.product(1)]?.length = 1000 } },
            underlying: .fileReadCorruptFile),
        Lie(
            testDescription: "another product's package", tell: { $0.host(1, says: "com.example.apes.book") },
            underlying: .fileReadCorruptFile),
        Lie(
            testDescription: "no package",
            tell: { scene in
                scene.server.change { $0.files["\(DownloadScene.product(1)).pkg"] = [] }
                scene.device.store.change { $0.hosted[DownloadScene.product(1)]?.length = 0 }
            }),
        Lie(
            testDescription: "more than any package may have",
            tell: { $0.device.store.change { $0.hosted[DownloadScene.product(1)]?.length = 1 << 40 } }),
        Lie(
            testDescription: "a package that is not there",
            tell: { $0.server.change { $0.files = [:] } }),
        Lie(
            testDescription: "an address of another kind",
            tell: { $0.device.store.change { $0.contentBase = "file:///etc/" } }),
        Lie(
            testDescription: "no content any more",
            tell: { $0.device.store.failNext("content", .refusal(404, WireError(code: .noContent, message: "Gone."))) }),
    ]

    @Test(arguments: lies)
    func `a false answer of the store fails the download and leaves only the transaction`(lie: Lie) async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let observer = DownloadObserver(startsAll: false)
            let queue = engine.queue(with: observer, buying: 1)
            try await until { !observer.downloads.isEmpty }
            lie.tell(scene)
            queue.start(observer.downloads)
            try await until { observer.words.last == "1 failed" }
            let error = try #require(observer.downloads.first?.error as? SKError)
            #expect(error.code == .unknown && !error.localizedDescription.isEmpty)
            let underlying = error.errorUserInfo[NSUnderlyingErrorKey] as? NSError
            if let code = lie.underlying {
                #expect(underlying?.domain == NSCocoaErrorDomain && underlying?.code == code.rawValue)
            }
            #expect(underlying != nil)
            #expect(queue.transactions.count == 1)
            let left = scene.files.filter { $0.contains(".pkg") || $0.contains("ContentInfo") }
            #expect(left.isEmpty, "\(left)")
            // What was mended in the meantime can be started again.
            scene.host(1)
            guard lie.testDescription != "an address of another kind" else { return await engine.stop() }
            queue.start(observer.downloads)
            try await until { observer.words.last == "1 finished" }
            await engine.stop()
        }
    }

    @Test func `a full disk fails the download with its own error, and keeps the transaction`() async throws {
        try await DownloadScene.run { scene async throws in
            let isFull = Mutex(true)
            let engine = scene.launch(unpack: { package, folder, length, isCancelled in
                if isFull.withLock({ $0 }) { return .noSpace }
                return DownloadScene.unpack(package, folder, length, isCancelled)
            })
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { observer.words.last == "1 failed" }
            let error = try #require(observer.downloads.first?.error as? SKError)
            let underlying = try #require(error.errorUserInfo[NSUnderlyingErrorKey] as? NSError)
            #expect(underlying.domain == NSCocoaErrorDomain)
            #expect(underlying.code == CocoaError.fileWriteOutOfSpace.rawValue)
            #expect(queue.transactions.count == 1)
            isFull.withLock { $0 = false }
            queue.start(observer.downloads)
            try await until { observer.words.last == "1 finished" }
            // The package was there.
            #expect(scene.server.ranges == ["-"])
            await engine.stop()
        }
    }

    @Test func `a restore of many queues their downloads and starts none, and three run at once`() async throws {
        try await DownloadScene.run(products: 7, length: 3000) { scene async throws in
            scene.device.store.change { state in
                for number in 1...7 {
                    let id = TransactionID(rawValue: 100 + Int64(number))
                    state.restorable.append(
                        (
                            "account-1",
                            TransactionDescription(
                                transactionID: id, originalTransactionID: id, bundleID: "com.example.monkeys",
                                productID: DownloadScene.product(number), kind: .nonConsumable, quantity: 1,
                                purchaseDate: 0, originalPurchaseDate: 0, expiresDate: nil, applicationUsername: nil,
                                idempotencyKey: nil)
                        ))
                }
            }
            for _ in 1...7 { scene.server.trouble(.silent(after: 100)) }
            let engine = scene.launch()
            let observer = DownloadObserver(startsAll: false)
            let queue = engine.queue(with: observer)
            queue.restoreCompletedTransactions()
            try await until { observer.all.restoresEnded == 1 }
            #expect(observer.downloads.count == 7)
            #expect(observer.downloads.allSatisfy { $0.state == .waiting })
            #expect(observer.words.isEmpty && scene.server.ranges.isEmpty)
            queue.start(observer.downloads)
            // The app is told on a queue of its own, before or after the server is asked.
            try await until {
                scene.server.change { $0.running } == 3
                    && observer.downloads.filter { $0.state == .active }.count == 3
            }
            scene.server.release()
            try await until { observer.downloads.allSatisfy { $0.state == .finished } }
            #expect(scene.server.change { $0.mostRunning } <= 3)
            await engine.stop()
        }
    }

    @Test func `finishing the transaction cancels its download and removes its files`() async throws {
        try await DownloadScene.run { scene async throws in
            scene.server.trouble(.silent(after: 70_000))
            // On a machine so busy that the silence is taken for a lost connection, going on brings little more.
            for _ in 1...20 { scene.server.trouble(.silent(after: 1_000)) }
            let engine = scene.launch()
            let observer = DownloadObserver()
            let queue = engine.queue(with: observer, buying: 1)
            try await until { (observer.downloads.first?.progress ?? 0) > 0 }
            let download = try #require(observer.downloads.first)
            queue.finishTransaction(download.transaction)
            try await until { !observer.all.removed.isEmpty && observer.words.last == "1 cancelled" }
            try await until { !scene.files.contains { $0.contains(".pkg") } }
            let asked = scene.server.ranges
            // It belongs to nothing any more.
            queue.start([download])
            try await until { download.transaction.downloads.isEmpty }
            await engine.stop()
            #expect(asked.first == "-")
            #expect(scene.server.ranges == asked)
        }
    }

    @Test func `an app gets the cancelled download before its transaction is removed`() async throws {
        try await DownloadScene.run(products: 5) { scene async throws in
            let steps = LockedList<String>()
            let downloading = DownloadBoundary(
                unpack: DownloadScene.unpack,
                mayPass: { step in
                    if case .action(.update(let told)) = step, told.contains(where: { $0.entry.phase == .cancelled }) {
                        steps.append("the app is told")
                    }
                    return true
                })
            let engine = scene.device.launch(
                timer: ImmediateTimer(),
                mayPerform: { action in
                    if case .finish = action { steps.append("the store is told") }
                    return true
                }, downloading: downloading)
            let observer = DownloadObserver(startsAll: false)
            let queue = engine.queue(with: observer)
            for number in 1...5 {
                queue.add(DownloadScene.payment(number))
                try await until { observer.all.transactions.count == number }
                queue.finishTransaction(try #require(observer.all.transactions.last))
                try await until { observer.all.removed.count == number }
                #expect(steps.all.count == 2 * number)
                #expect(steps.all.suffix(2) == ["the app is told", "the store is told"])
            }
            #expect(observer.words == (1...5).map { "\($0) cancelled" })
            await engine.stop()
        }
    }

    @Test func `downloads without a transaction are left alone`() async throws {
        try await DownloadScene.run { scene async throws in
            let engine = scene.launch()
            let queue = SKPaymentQueue(engine: engine)
            let mine = [SKDownload()]
            queue.start(mine)
            queue.pause(mine)
            queue.resume(mine)
            queue.cancel(mine)
            #expect(mine[0].state == .waiting && mine[0].contentURL == nil)
            #expect(mine[0].timeRemaining == SKDownloadTimeRemainingUnknown)
            await engine.stop()
        }
    }
}
