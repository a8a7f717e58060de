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
                String(decoding: lookup.body, as: UTF8.self).contains("\"averageUserRating\":5, \"userRatingCount\":1"))
        }
    }
}
