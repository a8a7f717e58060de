import Foundation
import TestSupport
import Testing

@testable import StoreKit

/// A rating from the app's call to the storefront's answer, on sockets.
@Suite("Ratings from the app to the storefront", .timeLimit(.minutes(1)))
struct ReviewJourneyTests {
    private struct RatingPresenter: StorePresenter {
        let stars: Int
        func show(_ page: StoreProductPage) async -> StoreProductPageAnswer { .done }
        func askForReview(ofApp bundleIdentifier: String) async -> Int? { stars }
    }

    private static let items = """

        items:
          - number: 1000
            kind: app
            bundleID: com.example.monkeys
            platforms: [iphone]
            creator: {number: 900, name: Example Games}
            genres: [{number: 6014, name: Games}]
            texts: [{locale: en_US, name: Monkeys}]
            versions: [{version: "1.1", releaseDate: "2026-01-02"}]
        """

    @Test(arguments: Backend.available) func theStarsOfARequestAreInTheLookup(_ backend: Backend) async throws {
        try await JourneyStore.with(backend, items: Self.items) { store async throws in
            func rating() async throws -> String {
                let reply = try await HTTPReply("GET", "\(store.addresses.storefront)/lookup?id=1000")
                let text = String(decoding: reply.body, as: UTF8.self)
                return text.matches(of: /"(averageUserRating|userRatingCount)":([0-9.]+)/).map { String($0.2) }
                    .joined(separator: " from ")
            }
            #expect(try await rating() == "0 from 0")
            let ape = try await JourneyDevice(store, email: "ape@example.com")
            let gibbon = try await JourneyDevice(store, email: "gibbon@example.com")
            for (device, stars, expected) in [
                (ape, 5, "5 from 1"), (gibbon, 2, "3.5 from 2"),
                // The same customer again changes the first rating.
                (ape, 4, "3 from 2"),
            ] {
                var configuration = device.configuration()
                configuration.presenter = RatingPresenter(stars: stars)
                let app = JourneyApp(device.launch(configuration), grants: Grants())
                await app.engine.requestReview(at: Date())
                await app.stop()
                #expect(try await rating() == expected)
            }
            await store.stop()
            try await store.start()
            #expect(try await rating() == "3 from 2")
        }
    }
}
