import ContentDownloads
import Crypto
import Foundation
import StoreWire
import Synchronization
import TestSupport

@testable import StoreKit

/// A device, a store that hosts content, and a server of the packages.
final class DownloadScene: Sendable {
    let device: TestDevice
    let server = ByteServer()

    init() throws { device = try TestDevice() }

    static func product(_ number: Int) -> ProductID { ProductID("com.example.monkeys.book\(number)") }

    /// Runs `body` with `products` hosted in version 1.0, each of `length` bytes.
    static func run(
        products: Int = 1, length: Int = 200_000, _ body: @escaping @Sendable (DownloadScene) async throws -> Void
    ) async throws {
        let scene = try DownloadScene()
        for number in 1...products { scene.host(number, length: length) }
        try await scene.server.run { url in
            scene.device.store.change { $0.contentBase = url.absoluteString }
            try await body(scene)
        }
    }

    /// A package is a line of text that ``unpack`` understands, and padding.
    func host(_ number: Int, version: String = "1.0", length: Int = 200_000, says product: ProductID? = nil) {
        let text = "\((product ?? Self.product(number)).rawValue) \(version)\n"
        var bytes = Array(text.utf8)
        while bytes.count < length { bytes.append(UInt8(truncatingIfNeeded: bytes.count &* 7 ^ bytes.count >> 8)) }
        let package = bytes
        server.change { $0.files["\(Self.product(number)).pkg"] = package }
        device.store.change { state in
            state.hosted[Self.product(number)] = FakeStore.Hosted(
                version: version, length: Int64(package.count),
                sha256: SHA256.hash(data: package).map { String(format: "%02x", $0) }.joined(), unpackedLength: 1000)
        }
    }

    /// Unpacks such a package.
    static let unpack: ContentUnpacking.Unpack = { package, folder, _, _ in
        guard let bytes = try? Data(contentsOf: package), let end = bytes.firstIndex(of: 10) else {
            return .damaged("no line")
        }
        let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ").map(String.init)
        guard words.count == 2 else { return .damaged("no words") }
        do {
            let contents = folder.appendingPathComponent("Contents")
            try FileManager.default.createDirectory(at: contents, withIntermediateDirectories: true)
            try Data("Once upon a time, \(words[1])".utf8).write(to: contents.appendingPathComponent("chapter.txt"))
            let info = ["IAPProductIdentifier": words[0], "ContentVersion": words[1]]
            try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0).write(
                to: folder.appendingPathComponent("ContentInfo.plist"))
        } catch {
            return .unwritable("\(error)")
        }
        return .unpacked(productID: words[0], version: words[1])
    }

    /// Launches the app; `change` says how it is configured.
    func launch(
        timer: any RetryTimer = ImmediateTimer(), transport: (any StoreTransport)? = nil,
        unpack: @escaping ContentUnpacking.Unpack = DownloadScene.unpack,
        mayPass: @escaping @Sendable (DownloadStep) -> Bool = { _ in true },
        configure: (inout StoreKitConfiguration) -> Void = { _ in }
    ) -> StoreKitEngine {
        var configuration = device.configuration()
        configure(&configuration)
        return device.launch(
            configuration, timer: timer, transport: transport,
            downloading: DownloadBoundary(unpack: unpack, mayPass: mayPass))
    }

    static func payment(_ number: Int) -> SKMutablePayment {
        let payment = SKMutablePayment()
        payment.productIdentifier = product(number).rawValue
        return payment
    }

    /// The names of all files and folders of the app's caches that belong to downloads, sorted.
    var files: [String] {
        let folder = device.folder.appendingPathComponent("apps/\(TestDevice.bundleID)/caches/sandbox")
        let found = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return found.filter { !$0.hasSuffix("CACHEDIR.TAG") }.sorted()
    }
}

extension StoreKitEngine {
    /// The app's queue, which it observes and keeps; it buys these products at once.
    @discardableResult
    func queue(with observer: DownloadObserver, buying products: Int...) -> SKPaymentQueue {
        let queue = SKPaymentQueue(engine: self)
        queue.add(observer)
        observer.keep(queue)
        for number in products { queue.add(DownloadScene.payment(number)) }
        return queue
    }
}

/// The app: it starts, or not, what it is told of, and remembers all that it hears.
// @unchecked: all is in a Mutex or constant.
final class DownloadObserver: NSObject, SKPaymentTransactionObserver, @unchecked Sendable {
    struct Heard: Sendable {
        var transactions: [SKPaymentTransaction] = []
        var removed: [String] = []
        /// Each word about a download: product number, state, and whether the progress had moved.
        var words: [String] = []
        var progress: [Float] = []
        var timesRemaining: [TimeInterval] = []
        var restoresEnded = 0
    }

    private let heard = Mutex(Heard())
    private let queues = Mutex<[SKPaymentQueue]>([])
    private let startsAll: Bool
    private let finishesAll: Bool
    private let onUpdate: @Sendable (SKPaymentQueue, SKDownload) -> Void

    init(
        startsAll: Bool = true, finishesAll: Bool = false,
        onUpdate: @escaping @Sendable (SKPaymentQueue, SKDownload) -> Void = { _, _ in }
    ) {
        self.startsAll = startsAll
        self.finishesAll = finishesAll
        self.onUpdate = onUpdate
    }

    /// Who adds an observer to a queue holds the queue as well, as an app does with its own.
    func keep(_ queue: SKPaymentQueue) { queues.withLock { $0.append(queue) } }

    var all: Heard { heard.withLock { $0 } }
    var words: [String] { all.words }
    var downloads: [SKDownload] { all.transactions.flatMap(\.downloads) }

    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction]) {
        let open = transactions.filter { $0.transactionState == .purchased || $0.transactionState == .restored }
        heard.withLock { heard in
            heard.transactions += open.filter { new in !heard.transactions.contains { $0 === new } }
        }
        if startsAll { queue.start(open.flatMap(\.downloads)) }
    }

    func paymentQueue(_ queue: SKPaymentQueue, updatedDownloads downloads: [SKDownload]) {
        for download in downloads {
            let word = "\(download.contentIdentifier.suffix(1)) \(download.state)"
            heard.withLock { heard in
                if heard.words.last != word { heard.words.append(word) }
                heard.progress.append(download.progress)
                heard.timesRemaining.append(download.timeRemaining)
            }
            onUpdate(queue, download)
            if finishesAll, download.state == .finished { queue.finishTransaction(download.transaction) }
        }
    }

    func paymentQueue(_ queue: SKPaymentQueue, removedTransactions transactions: [SKPaymentTransaction]) {
        heard.withLock { $0.removed += transactions.map(\.payment.productIdentifier) }
    }

    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue) {
        heard.withLock { $0.restoresEnded += 1 }
    }
}
