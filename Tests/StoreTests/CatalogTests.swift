import Foundation
import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct CatalogTests {
    private static func product(_ id: ProductID, internalID: String? = nil, locales: [String] = []) -> CatalogProduct {
        CatalogProduct(
            productID: id, kind: .consumable, referenceName: "Reference", internalID: internalID,
            prices: CatalogPrices(amount: 990, byStorefront: ["JPN": 150_000], byCurrency: ["EUR": 1_190]),
            availability: .except(["CHN"]),
            isFamilyShareable: false, isHosted: false,
            localizations: locales.map {
                CatalogLocalization(locale: $0, displayName: $0, description: nil, unknown: [:])
            },
            subscription: nil, unknown: [:]
        )
    }

    private static func app(_ bundleID: BundleID, _ products: [CatalogProduct], locale: String? = nil) -> CatalogApp {
        let settings = CatalogSettings(
            identifier: nil, version: .usual, storefront: nil, locale: locale, applicationInternalID: nil, unknown: [:]
        )
        return CatalogApp(
            bundleID: bundleID, name: nil, products: products, groups: [], settings: settings, unknown: [:])
    }

    @Test(arguments: [
        ("USA", 990, "USD"), ("JPN", 150_000, "JPY"), ("DEU", 1_190, "EUR"), ("FRA", 1_190, "EUR"), ("GBR", 990, "GBP"),
        ("IND", 990, "INR"),
    ])
    func pricesComeFromTheStorefrontThenTheCurrency(country: String, milliunits: Int64, currency: String) throws {
        let storefront = try #require(Storefront.named(country))
        #expect(Self.product("a").price(in: storefront) == Money(milliunits: milliunits, currency: currency))
    }

    @Test func aProductIsNotSoldWhereItIsNotAvailable() throws {
        let china = try #require(Storefront.named("CHN"))
        let app = Self.app("com.example", [Self.product("a")])
        #expect(app.products[0].price(in: china) == nil)
        #expect(app.description(of: app.products[0], languages: ["zh"], storefront: china) == nil)
        #expect(CatalogAvailability.only(["CHN"]).includes(china))
        #expect(!CatalogAvailability.only(["CHN"]).includes(.unitedStates))
    }

    @Test(arguments: [
        (["en_US", "de"], ["de-CH"], "de"), (["en_US", "de_AT", "de_DE"], ["de_AT.UTF-8"], "de_AT"),
        (["en_US", "de_AT", "de"], ["de_CH"], "de"),
        (["en_US", "zh_Hans", "zh_Hant"], ["zh-TW"], "zh_Hant"), (["en_US", "zh_Hant"], ["zh-Hans-CN"], "en_US"),
        (["en_US", "zh-CN"], ["zh_Hans"], "zh-CN"), (["en_US", "nb"], ["no"], "nb"),
        (["en_US", "he"], ["iw_IL"], "he"),
        (["en_US", "fr", "es"], ["it", "es-MX", "fr"], "es"), (["ja", "en_US"], ["C", "POSIX", ""], "en_US"),
        (["ja", "ko"], ["it"], "ja"), (["fr", "en_GB"], ["it"], "en_GB"),
    ])
    func textsComeInTheBestLanguage(locales: [String], languages: [String], wanted: String) throws {
        let app = Self.app("com.example", [Self.product("a", locales: locales)])
        #expect(
            app.description(of: app.products[0], languages: languages, storefront: .unitedStates)?.displayName == wanted
        )
    }

    @Test func theFilesOwnLocaleComesBeforeTheStorefronts() throws {
        let app = Self.app("com.example", [Self.product("a", locales: ["en_US", "fr_CA"])], locale: "fr_FR")
        #expect(
            app.description(of: app.products[0], languages: ["it"], storefront: .unitedStates)?.displayName == "fr_CA")
        let bare = Self.app("com.example", [Self.product("a")])
        #expect(
            bare.description(of: bare.products[0], languages: [], storefront: .unitedStates)?.displayName == "Reference"
        )
    }

    @Test(arguments: [
        (["en-US"], "USA", "en_US@currency=USD"), (["en"], "JPN", "en_JP@currency=JPY"),
        ([], "DEU", "de_DE@currency=EUR"),
        (["C"], "CHN", "zh_Hans_CN@currency=CNY"), (["zh-TW"], "TWN", "zh_Hant_TW@currency=TWD"),
    ])
    func pricesAreFormattedForTheReader(languages: [String], country: String, wanted: String) throws {
        let storefront = try #require(Storefront.named(country))
        #expect(CatalogApp.priceLocale(languages: languages, storefront: storefront) == wanted)
    }

    @Test func storefrontsAreWhole() {
        #expect(Storefront.all.count == 175)
        #expect(Set(Storefront.all.map(\.identifier)).count == 175)
        #expect(Set(Storefront.all.map(\.regionCode)).count == 175)
        #expect(Storefront.named("USA") == .unitedStates)
        #expect(Storefront.named("usa") == nil)
        for storefront in Storefront.all {
            #expect(storefront.currency.utf8.count == 3 && storefront.identifier.utf8.count == 6)
            #expect(LanguageTag(storefront.language) != nil)
            #expect(Locale(identifier: "en_\(storefront.regionCode)").region?.identifier == storefront.regionCode)
        }
        let known = ["GBR": "143444", "JPN": "143462", "CHN": "143465", "BRA": "143503", "ZWE": "143605"]
        for (country, number) in known { #expect(Storefront.named(country)?.identifier == number) }
    }

    @Test func numbersAreStableAndUnique() throws {
        let app = Self.app(
            "com.example.a",
            [
                Self.product("a"), Self.product("b", internalID: "6712345678"),
                Self.product("c", internalID: "6712345678"),
            ])
        // A made number never changes: receipts carry it.
        #expect(app.itemID == 1_415_687_645)
        #expect(app.products[0].itemID == 6_726_000_346)
        #expect(app.products[1].itemID == 6_712_345_678)
        #expect(Set(app.products.map(\.itemID)).count == 3)
        #expect(Self.app("com.example.a", [Self.product("a")]).products[0].itemID == app.products[0].itemID)
        #expect(Self.app("com.example.b", [Self.product("a")]).products[0].itemID != app.products[0].itemID)
        let other = Self.app("com.example.b", [Self.product("b", internalID: "6712345678")])
        let catalog = try Catalog(apps: [other, app])
        let all = catalog.apps.flatMap { [$0.itemID] + $0.products.map(\.itemID) }
        #expect(Set(all).count == all.count)
        #expect(catalog.product("b", of: "com.example.a")?.itemID == 6_712_345_678)
        #expect(try Catalog(apps: [app, other]) == catalog)
        #expect(Self.app("com.example.a", [Self.product("a", internalID: "51565980")]).products[0].itemID != 51_565_980)
    }

    @Test func manyProductsHaveDifferentNumbers() {
        let products = (0..<10_000).map { Self.product(ProductID("com.example.p\($0)")) }
        #expect(Set(Self.app("com.example", products).products.map(\.itemID)).count == 10_000)
    }

    @Test(arguments: [
        (["com.a.b.c", "com.a.b.d"], "com.a.b", BundleIDOrigin.productIDs), (["com.a.b"], "com.a", .productIDs),
        (["com.abc.x", "com.abd.x"], "com.example.My-App", .fileName),
        (["com.a.b", "com.a.b.c"], "com.a.b", .productIDs),
        (["one.two"], "com.example.My-App", .fileName), ([], "com.example.My-App", .fileName),
        (["a..b", "a..c"], "com.example.My-App", .fileName),
        (["a b.c.d", "a b.c.e"], "com.example.My-App", .fileName),
        (["superwall_diamond_8999"], "com.example.My-App", .fileName),
    ])
    func bundleIDsAreFound(productIDs: [String], wanted: String, origin: BundleIDOrigin) {
        let found = BundleIDOrigin.bundleID(
            given: nil, productIDs: productIDs.map { ProductID($0) }, file: "/some/My App.storekit")
        #expect(found.bundleID.rawValue == wanted)
        #expect(found.origin == origin)
        #expect(BundleIDOrigin.bundleID(given: "x.y", productIDs: [], file: "").bundleID == "x.y")
    }
}

@Suite(.timeLimit(.minutes(1))) struct CatalogLoadTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("catalog-\(UUID().uuidString)")

    private func file(_ name: String, _ text: String, bundleID: BundleID? = nil) throws -> CatalogFile {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: url, options: .atomic)
        return CatalogFile(path: url.path, bundleID: bundleID)
    }

    private func storeKit(_ price: String) -> String {
        #"{"version":{"major":4},"products":[{"productID":"com.a.b.c","type":"Consumable","displayPrice":"\#(price)"}]}"#
    }

    @Test func severalFilesMakeOneCatalog() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let yaml = "cornerstore-catalog: 1\napps: [{bundleID: com.example.one}, {bundleID: com.example.two}]"
        let files = [try file("a.storekit", storeKit("1")), try file("b.YAML", yaml)]
        let (catalog, notes) = try Catalog.load(files: files)
        #expect(catalog.apps.map(\.bundleID) == ["com.a.b", "com.example.one", "com.example.two"])
        #expect(notes.contains { $0.contains("a.storekit") && $0.contains("com.a.b") })
        let given = try Catalog.load(files: [try file("a.storekit", storeKit("1"), bundleID: "com.given")])
        #expect(given.catalog.app("com.given")?.products.count == 1)
    }

    @Test func filesThatCannotBeLoadedAreReported() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let good = try file("a.storekit", storeKit("1"))
        let twin = try file("twin.storekit", storeKit("1"))
        let bad = try file("bad.storekit", storeKit("x"))
        let own = try file("own.yml", "cornerstore-catalog: 1\napps: []", bundleID: "com.given")
        let named = try file("named.storekit", storeKit("1"), bundleID: "no bundle id")
        let missing = CatalogFile(path: folder.appendingPathComponent("missing.storekit").path, bundleID: nil)
        let directory = CatalogFile(path: folder.path, bundleID: nil)
        func error(_ files: [CatalogFile]) -> CatalogError? {
            do {
                _ = try Catalog.load(files: files)
                return nil
            } catch { return error }
        }
        #expect(error([good, twin])?.code == .duplicateApp)
        #expect(error([good, twin])?.detail.contains("twin.storekit: describes the app com.a.b, which") == true)
        #expect(error([good, missing, bad])?.code == .unreadable)
        #expect(error([good, missing, bad])?.problems.count == 2)
        #expect(error([directory])?.code == .unreadable)
        #expect(error([own])?.code == .invalid)
        #expect(error([named])?.code == .invalid)
        #expect(error([good]) == nil)
        #expect(throws: CatalogError.self) {
            let app = try #require(try good.read().apps.first)
            return try Catalog(apps: [app, app])
        }
    }

    @Test func aChangedFileIsReloadedUnlessItHasErrors() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try file("a.storekit", storeKit("1"))
        var watcher = CatalogWatcher(files: [file])
        guard case .unchanged = watcher.reload() else {
            Issue.record("nothing changed")
            return
        }
        _ = try self.file("a.storekit", storeKit("2"))
        guard case .loaded(let catalog, _) = watcher.reload() else {
            Issue.record("the file changed")
            return
        }
        #expect(catalog.product("com.a.b.c", of: "com.a.b")?.prices.amount == 2_000)
        _ = try self.file("a.storekit", storeKit("two"))
        guard case .failed(let error) = watcher.reload() else {
            Issue.record("the file is bad")
            return
        }
        #expect(error.detail.contains("displayPrice"))
        guard case .unchanged = watcher.reload() else {
            Issue.record("a bad file is told once")
            return
        }
        try FileManager.default.removeItem(atPath: file.path)
        guard case .failed = watcher.reload() else {
            Issue.record("the file went away")
            return
        }
        _ = try self.file("a.storekit", storeKit("3"))
        guard case .loaded = watcher.reload() else {
            Issue.record("the file came back")
            return
        }
        let later = watcher.changed()
        #expect(!later)
    }

    @Test func aLinkIsFollowed() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = try file("one.storekit", storeKit("1"))
        _ = try file("two.storekit", storeKit("2"))
        let link = folder.appendingPathComponent("link.storekit").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "one.storekit")
        var watcher = CatalogWatcher(files: [CatalogFile(path: link, bundleID: nil)])
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "two.storekit")
        let changed = watcher.changed()
        #expect(changed)
    }
}
