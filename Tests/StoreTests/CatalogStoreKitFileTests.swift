import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct CatalogStoreKitFileTests {
    @Test(.enabled(if: CatalogFixtures.isPresent), arguments: CatalogFixtures.names)
    func realFilesAreWrittenAsTheyWereRead(name: String) throws {
        let bytes = try CatalogFixtures.bytes(name)
        let app = try CatalogFixtures.app(name)
        let (text, _) = StoreKitConfigurationFile.text(of: app)
        let source = try JSONParser.parse(bytes, file: name).value
        #expect(try JSONParser.parse(Array(text.utf8), file: name).value == source)
        #expect(try StoreKitConfigurationFile.read(Array(text.utf8), file: name, bundleID: nil).apps == [app])
        // Even the layout is Xcode's.
        #expect(text.split(separator: "\n") == String(decoding: bytes, as: UTF8.self).split(separator: "\n"))
    }

    @Test(.enabled(if: CatalogFixtures.isPresent), arguments: CatalogFixtures.names)
    func realFilesSurviveOurOwnFormat(name: String) throws {
        let app = try CatalogFixtures.app(name)
        let yaml = CornerstoreCatalogFile.text(of: [app])
        #expect(try CornerstoreCatalogFile.read(Array(yaml.utf8), file: "made.yaml").apps == [app])
    }

    @Test(
        .enabled(if: CatalogFixtures.isPresent),
        arguments: zip(
            CatalogFixtures.names,
            [
                ("com.example.StoreKitHelper--Configuration", BundleIDOrigin.fileName, 2, 4),
                ("com.example.Superwall-iOS--Superwall-Advanced-Products", .fileName, 2, 5),
                ("com.flare", .productIDs, 5, 3),
                ("co.pointfree.isowords_testing", .productIDs, 1, 1), ("com.revenuecat.simpleapp", .productIDs, 5, 4),
            ]
        )
    )
    func realFilesAreUnderstood(
        name: String, wanted: (bundleID: String, origin: BundleIDOrigin, products: Int, major: Int)
    ) throws {
        let file = CatalogFile(path: CatalogFixtures.path(name), bundleID: nil)
        let (catalog, notes) = try Catalog.load(files: [file])
        let app = try #require(catalog.app(BundleID(wanted.bundleID)))
        #expect(app.products.count == wanted.products)
        #expect(app.settings.version.major == wanted.major)
        #expect(app.storefront.countryCode == "USA")
        #expect(notes.contains { $0.contains(wanted.bundleID) })
        #expect(
            BundleIDOrigin.bundleID(given: nil, productIDs: app.products.map(\.productID), file: file.path).origin
                == wanted.origin)
        #expect(Set(app.products.map(\.itemID)).count == app.products.count)
        for product in app.products {
            #expect(
                app.description(of: product, languages: ["en-US"], storefront: .unitedStates)?.price.currency == "USD")
            #expect((6_000_000_000..<7_000_000_000).contains(product.itemID))
        }
    }

    @Test(.enabled(if: CatalogFixtures.isPresent)) func aSubscriptionOfARealFileIsReadCompletely() throws {
        let app = try CatalogFixtures.app("flare__Flare")
        let product = try #require(app.product("com.flare.monthly_0.99.1_week_intro"))
        let subscription = try #require(product.subscription)
        #expect(product.kind == .autoRenewableSubscription)
        #expect(product.prices.amount == 990)
        #expect(subscription.period == SubscriptionPeriod(unit: .month, count: 1))
        #expect(subscription.introductoryOffers.map(\.paymentMode) == [.payUpFront])
        #expect(subscription.promotionalOffers.map(\.paymentMode) == [.payAsYouGo, .payUpFront, .free])
        #expect(subscription.promotionalOffers.map { $0.prices?.amount } == [990, 1990, nil])
        #expect(subscription.codeOffers.first?.eligibility == ["existing", "expired", "new"])
        #expect(subscription.codeOffers.first?.isStackable == true)
        let described = try #require(
            app.description(of: product, languages: [], storefront: .unitedStates)?.subscription)
        #expect(described.groupName == "subscription_group")
        #expect(described.promotionalOffers.map(\.price.milliunits) == [990, 1990, 0])
        #expect(described.introductoryOffer?.price == Money(milliunits: 990, currency: "USD"))
    }

    @Test(arguments: 0..<200) func generatedAppsSurviveBothFormats(seed: UInt64) throws {
        var generator = CatalogGenerator(seed: seed)
        let plain = generator.app("com.example.made", plain: true)
        let (text, omitted) = StoreKitConfigurationFile.text(of: plain)
        #expect(omitted.count == 1, "only the bundle id is missing: \(omitted)")
        let read = try StoreKitConfigurationFile.read(
            Array(text.utf8), file: "made.storekit", bundleID: "com.example.made")
        #expect(read.apps == [plain])
        let apps = [plain, generator.app("com.example.rich", plain: false)]
        let yaml = CornerstoreCatalogFile.text(of: apps)
        #expect(try CornerstoreCatalogFile.read(Array(yaml.utf8), file: "made.yaml").apps == apps)
    }

    @Test func factsThatAFileCannotExpressAreListed() throws {
        let app = try CatalogFixtures.documentedApp()
        let (text, omitted) = StoreKitConfigurationFile.text(of: app)
        for wanted in [
            "com.example.monkeys:", "name, Monkey Credits", "credits5: prices by storefront",
            "credits5: prices by currency",
            "jungle: availability", "jungle: hosted", "newsletter: free", "monthly: prices of offers",
            "monthly: the price that subscribers keep",
        ] {
            #expect(omitted.contains { $0.contains(wanted) }, "\(wanted) in \(omitted)")
        }
        let read = try #require(
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "x", bundleID: "com.example.monkeys").apps.first)
        #expect(read.products.count == app.products.count - 1)
        #expect(read.groups == app.groups)
        #expect(read.settings == app.settings)
        #expect(read.itemID == 1_234_567_890)
        #expect(read.product("com.example.monkeys.jungle")?.itemID == 6_712_345_678)
    }

    @Test func anEmptyFileIsAcceptedWithANote() throws {
        let text = #"{"version":{"major":2},"products":[],"subscriptionGroups":[]}"#
        let contents = try StoreKitConfigurationFile.read(
            Array(text.utf8), file: "Empty.storekit", bundleID: "com.example.empty")
        #expect(contents.apps.first?.products.isEmpty == true)
        #expect(contents.notes.contains { $0.contains("no product") })
    }

    @Test(arguments: 1...5) func everyVersionIsRead(major: Int) throws {
        let offer = #"{"paymentMode":"free","subscriptionPeriod":"P1W","internalID":"A"}"#
        let introductory = major < 5 ? #""introductoryOffer":\#(offer)"# : #""introductoryOffers":[\#(offer)]"#
        let text = """
            {"version":{"major":\(major),"minor":0},"subscriptionGroups":[{"id":"G","name":"g","subscriptions":[{\(introductory),
            "productID":"com.example.a.b","displayPrice":"1","recurringSubscriptionPeriod":"P1Y","type":"RecurringSubscription",
            "subscriptionGroupID":"G","internalID":"B","groupNumber":2}]}]}
            """
        let app = try #require(
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "x", bundleID: nil).apps.first)
        #expect(app.bundleID == "com.example.a")
        #expect(app.products.first?.subscription?.introductoryOffers.count == 1)
        let written = StoreKitConfigurationFile.text(of: app).text
        #expect(written.contains("introductoryOffers") == (major >= 5))
        #expect(written.contains("winbackOffers") == (major >= 4))
    }
}
