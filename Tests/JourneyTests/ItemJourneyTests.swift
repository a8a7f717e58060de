import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StoreKit

/// An item from the app's page to the customer's library and the storefront's rating, on sockets.
@Suite("Items from the app to the library", .timeLimit(.minutes(1)))
struct ItemJourneyTests {
    /// Buys in the terminal's way: wants what the page shows.
    private final class Customer: StorePresenter {
        private let pages = Mutex<[StoreProductPage]>([])
        private let sentences = Mutex<[String]>([])

        var shown: [StoreProductPage] { pages.withLock { $0 } }
        var told: [String] { sentences.withLock { $0 } }

        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer {
            pages.withLock { $0.append(page) }
            return .buy
        }
        func tell(_ sentence: String) async { sentences.withLock { $0.append(sentence) } }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }
    }

    // @unchecked: `tell` is a continuation, the rest is constant.
    private final class Delegate: NSObject, SKStoreProductViewControllerDelegate, @unchecked Sendable {
        let done: AsyncStream<Void>
        private let tell: AsyncStream<Void>.Continuation
        override init() { (done, tell) = AsyncStream.makeStream() }
        func productViewControllerDidFinish(_ viewController: SKStoreProductViewController) { tell.yield() }
    }

    private static let items = """

        items:
          - number: 4000
            kind: book
            creator: {number: 900, name: Ann Author}
            genres: [{number: 38, name: Books}]
            texts: [{locale: en_US, name: The Example}]
            releaseDate: "2020-01-01"
            displayPrice: 4.99
        """

    @Test(arguments: Backend.available) func anItemIsBoughtOnceFromAnAppsPage(_ backend: Backend) async throws {
        try await JourneyStore.with(backend, items: Self.items) { store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let customer = Customer()
            for isOwned in [false, true] {
                var configuration = device.configuration()
                configuration.presenter = customer
                let app = JourneyApp(device.launch(configuration), grants: Grants())
                let delegate = Delegate()
                let page = SKStoreProductViewController(engine: app.engine)
                page.delegate = delegate
                #expect(try await page.loadProduct(withParameters: ["id": "4000"]))
                await page.present()
                for await _ in delegate.done { break }
                let item = try #require(customer.shown.last?.item)
                #expect(item.name == "The Example" && item.formattedPrice == "$4.99" && item.isOwned == isOwned)

                // The page's address shows the customer's page; the store's public page offers nothing.
                let own = String(decoding: try await HTTPReply("GET", item.address).body, as: UTF8.self)
                #expect(own.contains("You own this") && own.contains("Write a review"))
                await app.stop()
            }
            // The second page was of an owned item, for which nothing is paid.
            #expect(customer.told == ["Bought The Example."])
            let form = [UInt8]("stars=5&title=Good&text=Very".utf8)
            let address = try #require(customer.shown.last?.item?.address)
            let sent = try await HTTPReply(
                "POST", address + "/review", type: "application/x-www-form-urlencoded",
                body: form)
            #expect([200, 303].contains(sent.status))
            let lookup = try await HTTPReply("GET", "\(store.addresses.storefront)/lookup?id=4000")
            #expect(
                String(decoding: lookup.body, as: UTF8.self).contains(
                    "\"averageUserRating\":5.0, \"userRatingCount\":1"))
        }
    }

    // MARK: Files

    /// Answers pages as the test says, and gives out what it is told.
    private final class Listener: StorePresenter {
        private let answer: @Sendable (StoreProductPage) async throws -> StoreProductPageAnswer
        private let sentences: AsyncStream<String>
        private let hear: AsyncStream<String>.Continuation
        private let heard = Mutex<[String]>([])

        var told: [String] { heard.withLock { $0 } }

        init(_ answer: @escaping @Sendable (StoreProductPage) async throws -> StoreProductPageAnswer) {
            self.answer = answer
            (sentences, hear) = AsyncStream.makeStream()
        }

        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer { (try? await answer(page)) ?? .done }
        func tell(_ sentence: String) async {
            heard.withLock { $0.append(sentence) }
            hear.yield(sentence)
        }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { nil }

        /// Waits for a sentence that begins so, and returns its rest.
        func rest(of beginning: String) async -> String? {
            for await sentence in sentences where sentence.hasPrefix(beginning) {
                return String(sentence.dropFirst(beginning.count))
            }
            return nil
        }
    }

    private static let example = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) })
    private static let itemWithFile = items + "\n    file: example.pdf\n"

    private func open(
        _ device: JourneyDevice, _ listener: Listener, item: String = "4000"
    ) async throws -> StoreKitEngine {
        var configuration = device.configuration()
        configuration.presenter = listener
        let engine = device.launch(configuration)
        let delegate = Delegate()
        let page = SKStoreProductViewController(engine: engine)
        page.delegate = delegate
        #expect(try await page.loadProduct(withParameters: ["id": item]))
        await page.present()
        for await _ in delegate.done { break }
        return engine
    }

    private func expectExample(in listener: Listener, on device: JourneyDevice) async throws {
        let told = await listener.rest(of: "Downloaded The Example to ")
        let path = try #require(told).dropLast()
        #expect(path.hasPrefix(device.folder.path + "/library/sandbox/") && path.hasSuffix("/4000/example.pdf"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: String(path))) == Self.example)
    }

    @Test(arguments: Backend.available)
    func aBoughtFileArrivesInTheLibraryThoughTheConnectionBreaks(_ backend: Backend) async throws {
        try await JourneyStore.with(backend, items: Self.itemWithFile, files: ["example.pdf": Self.example]) {
            store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let cut = #"{"operation":"download","cutAfter":150000,"count":1}"#
            #expect(try await store.control("POST", "faults", cut).status == 201)
            let listener = Listener { _ in .buy }
            let engine = try await open(device, listener)
            try await expectExample(in: listener, on: device)
            #expect(try await store.control("GET", "faults").body == Array("[]".utf8))
            await engine.stop()

            // Another device of the customer gets the file when the page is opened there; nothing is bought.
            let second = JourneyDevice(beside: device, name: "two")
            let there = Listener { _ in .done }
            let other = try await open(second, there)
            try await expectExample(in: there, on: second)
            await other.stop()
        }
    }

    /// An album (4100) of two songs with a file each.
    private static let album = """

        items:
          - number: 4100
            kind: album
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: Canopy}]
            releaseDate: "2026-03-01"
            displayPrice: 4.99
        \(song(1, "First Branch", file: "first.wav"))
        \(song(2, "Swing Low Leaf", file: "second.wav"))

        """

    private static func song(_ track: Int, _ name: String, file: String) -> String {
        """
          - number: \(4100 + track)
            kind: song
            creator: {number: 901, name: The Gibbons}
            genres: [{number: 14, name: Pop}]
            texts: [{locale: en_US, name: \(name)}]
            releaseDate: "2026-03-01"
            file: \(file)
            displayPrice: 0.69
            collection: 4100
            track: \(track)
        """
    }

    @Test func aFileThatTheStoreCannotReadDoesNotHoldUpTheAlbumsOthers() async throws {
        let files = ["first.wav": Self.example, "second.wav": Self.example]
        try await JourneyStore.with(.sqlite, items: Self.album, files: files) { store async throws in
            let catalog = URL(fileURLWithPath: store.configuration.catalogFiles[0].path)
            let first = catalog.deletingLastPathComponent().appendingPathComponent("first.wav")
            try FileManager.default.removeItem(at: first)
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let listener = Listener { _ in .buy }
            let engine = try await open(device, listener, item: "4100")
            #expect(await listener.rest(of: "Downloaded ")?.hasPrefix("Swing Low Leaf to ") == true)
            // The first is tried again.
            try Self.example.write(to: first)
            #expect(await listener.rest(of: "Downloaded ")?.hasPrefix("First Branch to ") == true)
            await engine.stop()
        }
    }

    @Test func whatWasBoughtBeforeACrashIsDownloadedAtTheNextLaunch() async throws {
        try await JourneyStore.with(.sqlite, items: Self.itemWithFile, files: ["example.pdf": Self.example]) {
            store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            #expect(
                try await store.control("POST", "faults", #"{"operation":"content","status":503,"count":1000}"#).status
                    == 201)
            let first = Listener { _ in .buy }
            let engine = try await open(device, first)
            #expect(await first.rest(of: "Bought The Example") == ".")
            await engine.stop()
            #expect(try await store.control("DELETE", "faults").status == 204)

            let second = Listener { _ in .done }
            var configuration = device.configuration()
            configuration.presenter = second
            let next = device.launch(configuration)
            try await expectExample(in: second, on: device)
            await next.stop()
        }
    }

    @Test func anApprovedRequestIsDownloadedAtTheNextLaunch() async throws {
        try await JourneyStore.with(.sqlite, items: Self.itemWithFile, files: ["example.pdf": Self.example]) {
            store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            #expect(try await store.control("PATCH", "accounts/ape@example.com", #"{"asksToBuy":true}"#).status == 200)
            let first = Listener { _ in .buy }
            let engine = try await open(device, first)
            #expect(await first.rest(of: "Asked for the permission to buy") == " The Example.")
            await engine.stop()
            // Nobody has decided: looking at the page and leaving it changes nothing.
            let idle = try await open(device, Listener { _ in .done })
            await idle.stop()
            let listed = try await store.control("GET", "pending-purchases").body
            let pending = try JSONSerialization.jsonObject(with: Data(listed)) as? [[String: Any]]
            let key = try #require(pending?.first?["key"] as? String)
            #expect(pending?.count == 1)
            #expect(try await store.control("POST", "pending-purchases/\(key)/approve", "{}").status == 200)
            let away = #"{"operation":"content","status":503,"count":1}"#
            #expect(try await store.control("POST", "faults", away).status == 201)

            let second = Listener { _ in .done }
            var configuration = device.configuration()
            configuration.presenter = second
            let next = device.launch(configuration)
            try await expectExample(in: second, on: device)
            // The download was tried again, the purchase was not.
            #expect(second.told.filter { $0.hasPrefix("Bought") } == ["Bought The Example."])
            await next.stop()
        }
    }

    /// Sends the form of the page in a browser, and closes the page.
    private static func buyer() -> Listener {
        Listener { page in
            let address = try #require(page.item?.address)
            let bought = try await HTTPReply(
                "POST", address + "/buy", type: "application/x-www-form-urlencoded",
                body: Array("key=\(UUID())&price=4990".utf8))
            #expect([200, 303].contains(bought.status))
            _ = try await HTTPReply(
                "POST", address + "/done", type: "application/x-www-form-urlencoded", body: [])
            return .done
        }
    }

    @Test(arguments: [true, false])
    func theDecisionAboutARequestFromTheBrowserIsFollowedUpAtTheNextLaunch(_ isApproved: Bool) async throws {
        try await JourneyStore.with(.sqlite, items: Self.itemWithFile, files: ["example.pdf": Self.example]) {
            store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            #expect(try await store.control("PATCH", "accounts/ape@example.com", #"{"asksToBuy":true}"#).status == 200)
            let engine = try await open(device, Self.buyer())
            await engine.stop()
            // Nobody has decided yet.
            var configuration = device.configuration()
            let waiting = device.launch(configuration)
            await waiting.stop()
            let listed = try await store.control("GET", "pending-purchases").body
            let pending = try JSONSerialization.jsonObject(with: Data(listed)) as? [[String: Any]]
            let key = try #require(pending?.first?["key"] as? String)
            #expect(pending?.count == 1)
            let order = try #require(
                FileManager.default.enumerator(at: device.folder, includingPropertiesForKeys: nil)?
                    .compactMap { $0 as? URL }.first { $0.lastPathComponent == "4000.json" })
            let decision = isApproved ? "approve" : "decline"
            let decided = try await store.control("POST", "pending-purchases/\(key)/\(decision)", "{}")
            #expect((200...204).contains(decided.status))

            let listener = Listener { _ in .done }
            configuration.presenter = listener
            let next = device.launch(configuration)
            if isApproved { try await expectExample(in: listener, on: device) }
            // What is decided is not asked for again.
            try await until { !FileManager.default.fileExists(atPath: order.path) }
            await next.stop()
        }
    }

    @Test func anItemThatWasBoughtInTheBrowserIsDownloadedToo() async throws {
        try await JourneyStore.with(.sqlite, items: Self.itemWithFile, files: ["example.pdf": Self.example]) {
            store async throws in
            let device = try await JourneyDevice(store, email: "ape@example.com")
            let listener = Self.buyer()
            let engine = try await open(device, listener)
            try await expectExample(in: listener, on: device)
            await engine.stop()
        }
    }
}
