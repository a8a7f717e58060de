import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Identifiers that Swift's `String` takes for equal and the database does not.
@Suite("Identifiers are compared byte by byte", .timeLimit(.minutes(1))) struct IdentifierBytesTests {
    /// U+212A KELVIN SIGN, U+037E GREEK QUESTION MARK and U+1FEF GREEK VARIA are canonically equivalent to ASCII.
    private static let spellings: [ProductID] = [
        "\u{212A};`hats", "K\u{37E}`hats", "K;\u{1FEF}hats", "\u{212A}\u{37E}\u{1FEF}hats",
    ]

    private static func catalog() throws -> Catalog {
        try TestStore.catalog { $0.replacing("productID: hats", with: "productID: \"K;`hats\"") }
    }

    @Test func theTestsSpellingsAreEqualInSwift() {
        for spelling in Self.spellings { #expect(spelling.rawValue == "K;`hats" && spelling != "K;`hats") }
    }

    @Test(arguments: Backend.available) func aProductIsSoldOnlyUnderItsOwnSpelling(_ backend: Backend) async throws {
        let processor = ScriptedProcessor()
        try await backend.withStore(processor: processor) { test async throws in
            test.store.catalog.replace(with: try Self.catalog())
            let account = try await test.account()
            for spelling in Self.spellings {
                let response = try await test.store.purchase(test.request(spelling), by: account)
                #expect(response.state == .failed && response.failure?.code == .productNotAvailable)
            }
            for _ in 0..<2 { try await test.buy("K;`hats", by: account) }
            #expect(processor.authorizations.count == 1)
            // The second is the first, delivered again.
            let ledger = try await test.ledger()
            #expect(Set(ledger.map(\.productID)) == ["K;`hats"])
            #expect(Set(ledger.map(\.originalTransactionID)).count == 1)
            let found = try await test.store.products(
                ProductsRequest(
                    bundleID: TestStore.bundleID, productIDs: Self.spellings + ["K;`hats"], languages: []),
                for: nil)
            #expect(found.products.map(\.productID) == ["K;`hats"])
            #expect(Set(found.invalidProductIDs) == Set(Self.spellings))
        }
    }

    @Test(arguments: Backend.available) func anotherSpellingDoesNotAffectAProduct(_ backend: Backend) async throws {
        try await backend.withStore { test async throws in
            test.store.catalog.replace(with: try Self.catalog())
            let account = try await test.account()
            let other = Self.spellings[0]
            #expect(
                try await refusal { try await test.store.promote(other, in: TestStore.bundleID, to: account) }
                    == .productNotAvailable)
            try await test.store.payments.setRule(
                DeclineRule(ruleID: "r", accountID: nil, productID: other, minimumAmount: nil, remaining: nil))
            try await test.buy("K;`hats", by: account)
            #expect(test.store.catalog.value.product(other, of: TestStore.bundleID) == nil)
        }
    }

    @Test func appsAreFoundByTheirBytes() throws {
        let app = try CatalogConversionTests.storeKit(#"{"version":{"major":4},"products":[]}"#)
        let catalog = try Catalog(apps: [
            CatalogApp(
                bundleID: "com.example.Kit", name: nil, products: [], groups: [], settings: app.settings, unknown: [:])
        ])
        #expect(catalog.app("com.example.Kit") != nil && catalog.app("com.example.\u{212A}it") == nil)
    }
}
