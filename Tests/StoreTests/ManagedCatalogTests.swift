import Database
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

@Suite("The managed catalog", .timeLimit(.minutes(1))) struct ManagedCatalogTests {
    private static let bundleID = ManagedScene.bundleID

    @Test(arguments: Backend.available)
    func eachEnvironmentSellsWhatItMay(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.review(.manual)
            let draft = try await scene.managed.createProduct(
                "coins", .consumable, in: nil, of: Self.bundleID, document: .object([:]), by: "anna")
            #expect(draft.state == .missingMetadata && draft.needs.first == "a price" && draft.needs.count == 2)
            #expect(try await scene.sold("coins", in: .sandbox).isEmpty)

            try await scene.change(
                "coins", ["displayPrice": .string("1.99"), "localizations": ManagedScene.texts("A")])
            #expect(try scene.managed.product("coins", of: Self.bundleID).state == .readyToSubmit)
            #expect(try await scene.sold("coins", "nothing", in: .sandbox) == ["coins"])
            #expect(try await scene.sold("coins", in: .production).isEmpty)

            try await scene.submit("coins", appVersion: "1.2")
            try await scene.take(.beginReview, "coins")
            #expect(try await scene.sold("coins", in: .production).isEmpty)
            let rejected = try await scene.take(.reject(reason: "Misleading."), "coins")
            #expect(rejected.state == .rejected && rejected.newest.reason == "Misleading.")
            #expect(rejected.newest.appVersion == "1.2")
            #expect(try await scene.sold("coins", in: .sandbox) == ["coins"])

            try await scene.submit("coins")
            let approved = try await scene.take(.approve, "coins")
            #expect(approved.state == .approved && approved.newest.reason == nil && approved.newest.appVersion == nil)
            #expect(try await scene.sold("coins", in: .production) == ["coins"])
        }
    }

    @Test(arguments: Backend.available)
    func productionKeepsTheApprovedTextsUntilTheNewOnesAreApproved(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("coins")
            #expect(try await scene.submit("coins").map(\.state) == [.approved])
            try await scene.review(.manual)

            // The price is the product's own and changes at once; texts are a version.
            try await scene.change("coins", ["displayPrice": .string("2.49")])
            #expect(try scene.managed.product("coins", of: Self.bundleID).versions.count == 1)
            let changed = try await scene.change("coins", ["localizations": ManagedScene.texts("Two")])
            #expect(changed.versions.map(\.stage) == [.approved, .preparing] && changed.state == .readyToSubmit)
            for environment in StoreEnvironment.allCases {
                let product = scene.catalogs[environment].value.product("coins", of: Self.bundleID)
                #expect(product?.prices.amount == 2490)
            }
            #expect(try await scene.name("coins", in: .sandbox) == "Two")
            #expect(try await scene.name("coins", in: .production) == "coins one")

            // A live product goes on with its approved texts while the new ones are incomplete.
            try await scene.change("coins", ["localizations": .null])
            #expect(try scene.managed.product("coins", of: Self.bundleID).state == .missingMetadata)
            #expect(try await scene.name("coins", in: .sandbox) == "coins one")
            try await scene.change("coins", ["localizations": ManagedScene.texts("Two")])
            try await scene.submit("coins")
            try await scene.take(.reject(reason: "No."), "coins")
            #expect(try await scene.name("coins", in: .production) == "coins one")
            try await scene.submit("coins")
            try await scene.take(.approve, "coins")
            #expect(try await scene.name("coins", in: .production) == "Two")

            // A live product keeps a price.
            #expect(try await refusal { try await scene.change("coins", ["displayPrice": .null]) } == .wrongState)
            // Both environments have the same numbers.
            let numbers = StoreEnvironment.allCases.map {
                scene.catalogs[$0].value.product("coins", of: Self.bundleID)?.itemID
            }
            #expect(Set(numbers).count == 1 && numbers[0] != nil)
        }
    }

    @Test(arguments: Backend.available)
    func anAppThatMayNotSellHasOnlyInvalidIdentifiers(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register(false)
            try await scene.create("coins")
            try await scene.submit("coins")
            func expectSold(_ isSold: Bool, _ comment: Comment) async throws {
                for environment in StoreEnvironment.allCases {
                    #expect(try await scene.sold("coins", in: environment) == (isSold ? ["coins"] : []), comment)
                }
            }
            try await expectSold(false, "in-app purchase is off")
            _ = try await scene.managed.changeApp(
                Self.bundleID, revision: 1, sellsInAppPurchases: true, review: nil, keys: nil, by: "anna")
            try await expectSold(true, "in-app purchase is on")
            _ = try await scene.managed.changeChecklist(.bank, isRequired: true, isDone: nil, by: "anna")
            try await expectSold(false, "bank details are missing")
            scene.clock.milliseconds += 5000
            let items = try await scene.managed.changeChecklist(.bank, isRequired: nil, isDone: true, by: "ben")
            #expect(
                items.last
                    == .init(name: .bank, isRequired: true, done: .init(date: scene.clock.milliseconds, author: "ben")))
            try await expectSold(true, "bank details are done")
            _ = try await scene.managed.changeChecklist(.bank, isRequired: nil, isDone: false, by: "ben")
            try await expectSold(false, "bank details are missing again")
        }
    }

    @Test(arguments: Backend.available)
    func anIdIsNeverUsedAgain(_ backend: Backend) async throws {
        try await backend.withTestDatabases { database, apps async throws in
            let scene = try await ManagedScene.open(database, apps: apps)
            try await scene.register()
            let coins = try await scene.create("coins")
            #expect(try await refusal { try await scene.create("coins", .nonConsumable) } == .wrongState)
            try await scene.managed.deleteProduct("coins", of: Self.bundleID, revision: coins.revision, by: "anna")
            #expect(try await scene.sold("coins", in: .sandbox).isEmpty)
            #expect(try await refusal { try await scene.create("coins") } == .wrongState)
            #expect(try await refusal { try scene.managed.product("coins", of: Self.bundleID) } == .productNotAvailable)
            let file = Self.yaml("coins")
            #expect(
                try await refusal {
                    try await scene.managed.importFile(
                        file, isYAML: true, bundleID: nil, isApproved: false, by: "anna")
                } == .wrongState)
            // The type and the id are fixed.
            try await scene.create("hats", .nonConsumable)
            for key in ["productID", "type"] {
                #expect(
                    try await refusal { try await scene.change("hats", [key: .string("other")]) } == .invalidRequest)
            }
            // The other app has identifiers of its own.
            _ = try await scene.managed.register("com.example.b", name: nil, sellsInAppPurchases: true, by: "anna")
            _ = try await scene.managed.createProduct(
                "coins", .consumable, in: nil, of: "com.example.b", document: .object([:]), by: "anna")

            let restarted = try await ManagedScene.open(database, apps: apps)
            #expect(try await refusal { try await restarted.create("coins") } == .wrongState)
        }
    }

    @Test(arguments: Backend.available)
    func ofTwoEditorsTheLaterIsTold(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            let app = try await scene.register()
            let coins = try await scene.create("coins")
            try await scene.change("coins", ["displayPrice": .string("2.00")])
            let stale = await #expect(throws: StaleRevision.self) {
                try await scene.managed.changeProduct(
                    "coins", of: Self.bundleID, revision: coins.revision,
                    keys: .object(["displayPrice": .string("3.00")]), by: "ben")
            }
            #expect(stale?.products.first?.product.prices.amount == 2000 && stale?.products.first?.revision == 2)
            _ = try await scene.managed.changeApp(
                Self.bundleID, revision: app.revision, sellsInAppPurchases: nil, review: .manual, keys: nil, by: "anna")
            let staleApp = await #expect(throws: StaleRevision.self) {
                try await scene.managed.changeApp(
                    Self.bundleID, revision: app.revision, sellsInAppPurchases: false, review: nil, keys: nil, by: "ben"
                )
            }
            #expect(staleApp?.app?.review == .manual)

            // Of twenty at once, one succeeds.
            let revision = try scene.managed.product("coins", of: Self.bundleID).revision
            let managed = scene.managed
            let winners = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        let changed = try? await managed.changeProduct(
                            "coins", of: Self.bundleID, revision: revision,
                            keys: .object(["displayPrice": .string("5.\(10 + index)")]), by: "ed\(index)")
                        return changed != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(winners == 1)
            let last = try await managed.history(of: Self.bundleID, "coins", before: nil, limit: 3)
            #expect(last.map(\.kind) == ["change", "change", "create"])
        }
    }

    @Test(arguments: Backend.available)
    func everyChangeIsInTheHistory(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("coins")
            scene.clock.milliseconds += 1000
            try await scene.change("coins", ["displayPrice": .string("2.00")])
            // A change that changes nothing is none.
            let revision = try scene.managed.product("coins", of: Self.bundleID).revision
            #expect(try await scene.change("coins", ["displayPrice": .string("2.0")]).revision == revision)
            try await scene.submit("coins", appVersion: "3.1")
            try await scene.take(.remove, "coins")
            try await scene.take(.restore, "coins")
            let all = try await scene.managed.history(of: Self.bundleID, nil, before: nil, limit: 200)
            #expect(all.map(\.number) == (1...Int64(all.count)).reversed())
            let line = all.reversed().map { "\($0.kind) \($0.author)" }
            #expect(
                line == [
                    "register anna", "create anna", "change anna", "submit anna", "review automatic review",
                    "approve automatic review", "remove rita", "restore rita",
                ])
            let change = try #require(all.first { $0.kind == "change" })
            #expect(change.date == scene.clock.milliseconds && change.productID == "coins")
            #expect(change.before?.contains("\"0.99\"") == true && change.after?.contains("\"2\"") == true)
            let submit = try #require(all.first { $0.kind == "submit" })
            #expect(submit.before == "READY_TO_SUBMIT" && submit.after == "WAITING_FOR_REVIEW")
            #expect(submit.note?.contains("3.1") == true)
            #expect(all.first?.after == "APPROVED" && all.first?.before == "DEVELOPER_REMOVED_FROM_SALE")
            // Pages by key.
            let first = try await scene.managed.history(of: Self.bundleID, "coins", before: nil, limit: 2)
            let second = try await scene.managed.history(
                of: Self.bundleID, "coins", before: first.last?.number, limit: 2)
            #expect(first + second == Array(all.prefix(4)))
        }
    }

    @Test(arguments: Backend.available)
    func productsAreSubmittedTogetherOrNotAtAll(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("coins")
            try await scene.create("hats", .nonConsumable)
            try await scene.change("hats", ["localizations": .null])
            let error = await #expect(throws: StoreError.self) { try await scene.submit("coins", "hats") }
            #expect(
                error?.code == .wrongState && error?.detail.contains("hats: The product is Missing Metadata") == true)
            #expect(try scene.managed.product("coins", of: Self.bundleID).state == .readyToSubmit)
            try await scene.change("hats", ["localizations": ManagedScene.texts("Hats")])
            #expect(try await scene.submit("coins", "hats").map(\.state) == [.approved, .approved])
        }
    }

    @Test(arguments: Backend.available)
    func subscriptionsBelongToGroups(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            let app = try await scene.register()
            let document: JSONValue = .object([
                "displayPrice": .string("3.99"), "recurringSubscriptionPeriod": .string("P1M"),
                "groupNumber": .number("2"), "localizations": ManagedScene.texts("Pro"),
                "introductoryOffers": .array([
                    .object(["paymentMode": .string("free"), "subscriptionPeriod": .string("P1W")])
                ]),
            ])
            func create() async throws -> ManagedProduct {
                try await scene.managed.createProduct(
                    "pro", .autoRenewableSubscription, in: "21000001", of: Self.bundleID, document: document, by: "anna"
                )
            }
            #expect(try await refusal(create) == .invalidRequest)
            let grouped = try await scene.managed.setGroup(
                "21000001", of: Self.bundleID, revision: app.revision, name: "Club", localizations: nil, by: "anna")
            let pro = try await create()
            #expect(pro.product.subscription?.level == 2 && pro.product.subscription?.introductoryOffers.count == 1)
            #expect(try await scene.sold("pro", in: .sandbox) == ["pro"])
            #expect(
                try await refusal {
                    try await scene.managed.deleteGroup(
                        "21000001", of: Self.bundleID, revision: grouped.revision, by: "anna")
                } == .wrongState)
            try await scene.managed.deleteProduct("pro", of: Self.bundleID, revision: pro.revision, by: "anna")
            let without = try await scene.managed.deleteGroup(
                "21000001", of: Self.bundleID, revision: grouped.revision, by: "anna")
            #expect(without.frame.groups.isEmpty)
        }
    }

    @Test func theHistoryHasNoPrivateKey() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            let app = try await scene.register()
            let pair: JSONValue = .object(["id": .string("K1"), "privateKey": .string("c2VjcmV0")])
            _ = try await scene.managed.changeApp(
                Self.bundleID, revision: app.revision, sellsInAppPurchases: nil, review: nil,
                keys: .object([
                    "xcode": .object(["subscriptionOffersKeyPair": pair, "appPolicies": .object([:])]),
                    "name": .string("Renamed"),
                ]), by: "anna")
            #expect(try scene.managed.export(Self.bundleID, asYAML: true).text.contains("c2VjcmV0"))
            let change = try #require(
                try await scene.managed.history(of: Self.bundleID, nil, before: nil, limit: 1).first)
            #expect(change.after?.contains("Renamed") == true && change.after?.contains("appPolicies") == true)
            #expect(change.after?.contains("c2VjcmV0") == false)
        }
    }

    @Test func wrongValuesAreRefusedWithTheirKey() async throws {
        try await Backend.sqlite.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("coins")
            for (key, value) in [
                ("displayPrice", JSONValue.string("abc")), ("prices", .object(["XXX": .string("1")])),
                ("nonsense", .bool(true)), ("hosted", .bool(true)), ("localizations", .array([.object([:])])),
                ("availability", .object(["only": .array([.string("Mars")])])),
            ] {
                let error = await #expect(throws: StoreError.self) { try await scene.change("coins", [key: value]) }
                #expect(error?.code == .invalidRequest && error?.detail.contains(key) == true, "\(error?.detail ?? "")")
                #expect(error?.detail.contains("apps[0]") == false)
            }
            for bundleID: BundleID in ["com.example.*", "", "a b", "com..example"] {
                #expect(
                    try await refusal {
                        try await scene.managed.register(bundleID, name: nil, sellsInAppPurchases: true, by: "anna")
                    } == .invalidRequest)
            }
            #expect(
                try await refusal {
                    try await scene.managed.register(
                        "com.example.c", name: nil, sellsInAppPurchases: true, by: "a\nb")
                } == .invalidRequest)
            #expect(try await refusal { try await scene.register() } == .wrongState)
        }
    }

    @Test func anAppIsInAFileOrManaged() async throws {
        let files = try TestStore.catalog()
        try await Backend.sqlite.withManaged(files: files) { scene async throws in
            let error = await #expect(throws: StoreError.self) {
                try await scene.managed.register(
                    TestStore.bundleID, name: nil, sellsInAppPurchases: true, by: "anna")
            }
            #expect(error?.code == .wrongState && error?.detail.contains(TestStore.bundleID.rawValue) == true)
            try await scene.register()
            try await scene.create("coins")
            // The file's apps go on beside it.
            #expect(scene.catalogs[.production].value.app(TestStore.bundleID) == files.app(TestStore.bundleID))
            let both = try Catalog(
                apps: files.apps + [
                    CatalogApp(
                        bundleID: Self.bundleID, name: nil, products: [], groups: [], settings: .usual, unknown: [:])
                ])
            let refused = #expect(throws: CatalogError.self) { try scene.catalogs.replaceFiles(with: both) }
            #expect(refused?.code == .duplicateApp && refused?.detail.contains(Self.bundleID.rawValue) == true)
            #expect(try await scene.sold("coins", in: .sandbox) == ["coins"])
            try scene.catalogs.replaceFiles(with: .empty)
            #expect(scene.catalogs.all.value.apps.map(\.bundleID) == [Self.bundleID])
        }
    }

    @Test(arguments: Backend.available)
    func familySharingOfAProductThatWasLiveStaysOn(_ backend: Backend) async throws {
        try await backend.withManaged { scene async throws in
            try await scene.register()
            try await scene.create("hats", .nonConsumable)
            try await scene.change("hats", ["familyShareable": .bool(true)])
            try await scene.change("hats", ["familyShareable": .bool(false)])
            // Review is automatic.
            try await scene.submit("hats")
            // It can be turned on later, and then not off again.
            try await scene.change("hats", ["familyShareable": .bool(true)])
            #expect(
                try await refusal { try await scene.change("hats", ["familyShareable": .bool(false)]) } == .wrongState)
            #expect(try scene.managed.product("hats", of: Self.bundleID).base.isFamilyShareable)
        }
    }

    static func yaml(_ productID: ProductID) -> String {
        """
        cornerstore-catalog: 1
        apps:
          - bundleID: \(bundleID)
            products:
              - productID: \(productID)
                type: Consumable
                displayPrice: 0.99
        """
    }
}
