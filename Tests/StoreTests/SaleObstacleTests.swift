import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("Why an identifier is invalid", .timeLimit(.minutes(1))) struct SaleObstacleTests {
    @Test(arguments: Backend.available) func aManagedProductsStateIsTheReason(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            func obstacle(
                _ productID: ProductID, _ environment: StoreEnvironment = .sandbox,
                in storefront: Storefront = .unitedStates
            ) -> SaleObstacle? {
                scene.store(environment).obstacle(
                    to: productID, of: ManagedScene.bundleID, in: storefront, managed: scene.managed)
            }
            try await scene.register()
            try await scene.review(.manual)
            try await scene.create("coins")
            _ = try await scene.managed.createProduct(
                "draft", .consumable, in: nil, of: ManagedScene.bundleID, document: .object([:]), by: "anna")
            #expect(obstacle("coins") == nil)
            #expect(obstacle("coins", .production) == .notApproved(.readyToSubmit))
            guard case .incomplete(let needs)? = obstacle("draft") else {
                Issue.record("The sandbox sells a draft.")
                return
            }
            #expect(needs.contains("a price"))
            #expect(obstacle("COINS ") == .unknown(similar: "coins"))
            #expect(obstacle("gold") == .unknown(similar: nil))
            try await scene.change("coins", ["availability": .object(["only": .array([.string("DEU")])])])
            #expect(obstacle("coins") == .storefront)
            let germany = try #require(Storefront.named("DEU"))
            #expect(obstacle("coins", in: germany) == nil)
            try await scene.take(.remove, "coins")
            #expect(obstacle("coins") == .removed)
            try await scene.take(.restore, "coins")
            _ = try await scene.managed.changeChecklist(.tax, isRequired: true, isDone: nil, by: "anna")
            #expect(obstacle("coins") == .checklist([.tax]))
            let app = try scene.managed.app(ManagedScene.bundleID)
            _ = try await scene.managed.changeApp(
                ManagedScene.bundleID, revision: app.revision, sellsInAppPurchases: false, review: nil, keys: nil,
                by: "anna")
            #expect(obstacle("coins") == .inAppPurchaseOff)
        }
    }

    @Test func aProductOfAFileIsSoldOrNot() async throws {
        let files = try TestStore.catalog()
        try await Backend.sqlite.withManaged(files: files) { scene async throws in
            func obstacle(_ productID: ProductID, _ country: String) throws -> SaleObstacle? {
                scene.sandbox.store.obstacle(
                    to: productID, of: TestStore.bundleID, in: try #require(Storefront.named(country)),
                    managed: scene.managed)
            }
            #expect(try obstacle("domestic", "USA") == nil)
            #expect(try obstacle("domestic", "DEU") == .storefront)
            #expect(try obstacle("Domestic", "USA") == .unknown(similar: "domestic"))
            #expect(try obstacle("none", "USA") == .unknown(similar: nil))
        }
    }
}
