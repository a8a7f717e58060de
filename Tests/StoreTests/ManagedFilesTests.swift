import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("The managed catalog's files", .timeLimit(.minutes(1))) struct ManagedFilesTests {
    private static let bundleID: BundleID = "com.example.made"

    @discardableResult
    private static func take(_ text: String, into scene: ManagedScene, isYAML: Bool) async throws
        -> ManagedCatalog.Import
    {
        try await scene.managed.importFile(
            text, isYAML: isYAML, bundleID: isYAML ? nil : bundleID, isApproved: false, by: "anna")
    }

    /// Takes a file in and gives it out: the app is the same in both formats, byte for byte, and taking the result in
    /// again changes nothing.
    private static func expectUnchanged(
        _ app: CatalogApp, _ scene: ManagedScene, _ comment: Comment? = nil
    ) async throws {
        try await take(CornerstoreCatalogFile.text(of: [app]), into: scene, isYAML: true)
        #expect(try scene.managed.app(app.bundleID).whole == app, comment)
        let yaml = try scene.managed.export(app.bundleID, asYAML: true)
        #expect(
            yaml.omitted.isEmpty && yaml.text.utf8.elementsEqual(CornerstoreCatalogFile.text(of: [app]).utf8), comment)
        let storeKit = try scene.managed.export(app.bundleID, asYAML: false)
        #expect(storeKit.text.utf8.elementsEqual(StoreKitConfigurationFile.text(of: app).text.utf8), comment)
        let again = try await take(yaml.text, into: scene, isYAML: true)
        #expect(again.created.isEmpty && again.changed.isEmpty, comment)
    }

    @Test func generatedFilesAreTakenInWithoutLoss() async throws {
        var products = 0
        try await Backend.sqlite.withManaged { scene async throws in
            for seed in 0..<20 as Range<UInt64> {
                var forge = StoreKitFileForge(random: SeededGenerator(seed: seed), filling: .mixed)
                let text = forge.document().xcodeText
                let app = try #require(
                    try StoreKitConfigurationFile.read(
                        Array(text.utf8), file: "A.storekit", bundleID: BundleID("com.example.made\(seed)")
                    ).apps.first)
                products += app.products.count
                try await Self.expectUnchanged(app, scene, "seed \(seed)")
            }
        }
        #expect(products > 25)
    }

    @Test(arguments: Backend.available)
    func aFileWithEveryKeyIsTakenInWithoutLoss(_ backend: Backend) async throws {
        let page = CatalogFixtures.root.appendingPathComponent("Documentation/Catalog.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let example = try #require(text.firstMatch(of: /```yaml\n(cornerstore-catalog: 1\napps:[\s\S]*?)```/))
        let app = try #require(
            try CornerstoreCatalogFile.read(Array(example.1.utf8), file: "Catalog.md").apps.first)
        #expect(app.products.contains { $0.isHosted })
        try await backend.withTestDatabases { database, apps async throws in
            try await Self.expectUnchanged(app, try await ManagedScene.open(database, apps: apps))
            // A restart keeps everything.
            let restarted = try await ManagedScene.open(database, apps: apps)
            #expect(try restarted.managed.app(app.bundleID).whole == app)
            #expect(restarted.catalogs.all.value.app(app.bundleID)?.products == app.products)
            // A `.storekit` file adds Xcode's identifiers, and keeps what it cannot say.
            let storeKit = try restarted.managed.export(app.bundleID, asYAML: false)
            #expect(!storeKit.omitted.isEmpty)
            _ = try await restarted.managed.importFile(
                storeKit.text, isYAML: false, bundleID: app.bundleID, isApproved: false, by: "anna")
            let kept = try restarted.managed.app(app.bundleID).whole.products
            for (new, old) in zip(kept, app.completedForStoreKit.products) where old.kind != .freeSubscription {
                #expect(new == old, "\(old.productID)")
            }
            #expect(kept.map(\.productID) == app.products.map(\.productID))
        }
    }

    @Test func aStoreKitFileNeedsABundleIdAndItsProblemsAreTold() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            var forge = StoreKitFileForge(random: SeededGenerator(seed: 1), filling: .filled)
            let text = forge.document().xcodeText
            #expect(
                try await refusal {
                    try await scene.managed.importFile(text, isYAML: false, bundleID: nil, isApproved: false, by: "a")
                } == .invalidRequest)
            let refused = await #expect(throws: RefusedCatalog.self) {
                try await Self.take("cornerstore-catalog: 1\napps: 7", into: scene, isYAML: true)
            }
            #expect(refused?.problems.first?.hasPrefix("catalog.yaml:2:") == true)
            try await Self.take(text, into: scene, isYAML: false)
            #expect(try !scene.managed.app(Self.bundleID).products.isEmpty)
        }
    }

    @Test func anImportChangesWhatTheFileSaysAndKeepsTheRest() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("coins")
            try await scene.create("hats", .nonConsumable)
            try await scene.submit("coins", "hats")
            let result = try await Self.take(ManagedCatalogTests.yaml("coins"), into: scene, isYAML: true)
            #expect(result.created.isEmpty && result.changed == ["coins"])
            // The file has no texts: the new version lacks them, the approved one stays.
            let coins = try scene.managed.product("coins", of: ManagedScene.bundleID)
            #expect(coins.versions.map(\.stage) == [.approved, .preparing] && coins.state == .missingMetadata)
            #expect(try scene.managed.app(ManagedScene.bundleID).frame.name == "Managed")
            #expect(try await scene.sold("coins", "hats", in: .production) == ["coins", "hats"])
            // The type is fixed.
            let other = ManagedCatalogTests.yaml("hats")
            #expect(try await refusal { try await Self.take(other, into: scene, isYAML: true) } == .wrongState)
            // Of a file with a wrong app, nothing is taken in.
            let two = other.replacing("apps:\n", with: "apps:\n  - bundleID: com.example.first\n    products: []\n")
            #expect(try await refusal { try await Self.take(two, into: scene, isYAML: true) } == .wrongState)
            #expect(!scene.managed.manages("com.example.first"))
        }
    }

    @Test func theItemsOfAFileAreLeftOutAndTheirFilesNotLookedFor() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            let items = """

                items:
                  - number: 1400000001
                    file: Package.swift
                    artwork: /etc/hostname
                """
            let result = try await Self.take(ManagedCatalogTests.yaml("coins") + items, into: scene, isYAML: true)
            #expect(result.created == ["coins"])
            #expect(result.notes.first == "left out: the items of the storefront")
            #expect(result.notes.allSatisfy { !$0.contains("Package.swift") && !$0.contains("hostname") })
        }
    }

    @Test func anAppThatIsLiveAlreadyIsTakenInApproved() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            let text = ManagedCatalogTests.yaml("coins").replacing(
                "displayPrice: 0.99",
                with: "displayPrice: 0.99\n        localizations: [{locale: en, displayName: C, description: D}]")
            let result = try await scene.managed.importFile(
                text, isYAML: true, bundleID: nil, isApproved: true, by: "anna")
            #expect(result.created == ["coins"] && result.notes.isEmpty)
            #expect(try await scene.sold("coins", in: .production) == ["coins"])
        }
    }

    @Test(arguments: Backend.available)
    func whatTheStoreCouldNotReadAgainIsRefused(_ backend: Backend) async throws {
        // Xcode writes what it likes; the store's own format knows three kinds of customers.
        let offer = """
            {"referenceName": "spring", "internalID": "0A0A0A0A", "paymentMode": "free", "subscriptionPeriod": "P1W",
            "eligibility": ["everyone"]}
            """
        let storeKit = """
            {"version": {"major": 4, "minor": 0}, "identifier": "0B0B0B0B", "products": [], "subscriptionGroups": [
            {"id": "21000001", "name": "Club", "localizations": [], "subscriptions": [{"productID": "pro",
            "type": "RecurringSubscription", "displayPrice": "3.99", "recurringSubscriptionPeriod": "P1M",
            "groupNumber": 1, "localizations": [], "codeOffers": [\(offer)]}]}]}
            """
        func groups(_ numbers: Range<Int>) -> String {
            "cornerstore-catalog: 1\napps:\n  - bundleID: com.example.groups\n    subscriptionGroups:\n"
                + numbers.map { "      - {id: g\($0), name: G}\n" }.joined()
        }
        try await backend.withTestDatabases { database, apps async throws in
            let scene = try await ManagedScene.open(database, apps: apps)
            let refused = await #expect(throws: RefusedCatalog.self) {
                try await Self.take(storeKit, into: scene, isYAML: false)
            }
            let problem = try #require(refused?.problems.first)
            #expect(refused?.problems.count == 1 && problem.hasPrefix("pro: codeOffers[0].eligibility: \"everyone\""))
            #expect(!scene.managed.manages(Self.bundleID))
            // The groups that a file lacks stay, so two files can have too many.
            try await Self.take(groups(0..<600), into: scene, isYAML: true)
            let crowded = await #expect(throws: RefusedCatalog.self) {
                try await Self.take(groups(600..<1_200), into: scene, isYAML: true)
            }
            #expect(crowded?.problems.first?.hasPrefix("com.example.groups: subscriptionGroups: has more") == true)
            // The store starts.
            let restarted = try await ManagedScene.open(database, apps: apps)
            #expect(restarted.managed.apps.map(\.groups.count) == [600])
        }
    }

    @Test func anExportThatNoStoreWouldReadIsRefused() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            try await scene.register()
            for productID: ProductID in ["coins", "gems"] {
                var base = try await scene.create(productID).base
                base.unknown["note"] = .string(String(repeating: "a", count: 2_200_000))
                let row = ManagedDocument.stored(base, of: ManagedScene.bundleID)
                try await scene.managed.database.write { connection in
                    _ = try connection.execute(
                        "UPDATE managed_products SET document = $2 WHERE product_id = $1", [productID.rawValue, row])
                }
            }
            try await scene.managed.reload(.app(ManagedScene.bundleID))
            #expect(
                try await refusal { try scene.managed.export(ManagedScene.bundleID, asYAML: true) } == .wrongState)
            // A `.storekit` file can be larger.
            #expect(try scene.managed.export(ManagedScene.bundleID, asYAML: false).text.utf8.count > 4_400_000)
        }
    }
}
