import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// Real `.storekit` files that lie outside the package; tests over them are skipped where they are not.
enum CatalogFixtures {
    static let names = [
        "StoreKitHelper__Configuration", "Superwall-iOS__Superwall_Advanced-Products", "flare__Flare",
        "isowords__StoreKit",
        "purchases-ios__Products",
    ]

    /// The package's folder.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let folder: URL = {
        let environment = ProcessInfo.processInfo.environment["CORNERSTORE_FIXTURES"]
        let base =
            environment.map { URL(fileURLWithPath: $0) }
            ?? root.appendingPathComponent("../shared/fixtures").standardized
        return base.appendingPathComponent("storekit")
    }()

    static func path(_ name: String) -> String { folder.appendingPathComponent(name + ".storekit").path }

    static var isPresent: Bool { names.allSatisfy { FileManager.default.fileExists(atPath: path($0)) } }

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    static func app(_ name: String) throws -> CatalogApp {
        try #require(try StoreKitConfigurationFile.read(try bytes(name), file: name, bundleID: nil).apps.first)
    }

    /// The YAML catalog that the documentation shows, which has every key.
    static func documentedYAML() throws -> String {
        let page = try String(contentsOf: root.appendingPathComponent("Documentation/Catalog.md"), encoding: .utf8)
        let start = try #require(page.range(of: "```yaml\n"))
        let end = try #require(page.range(of: "```", range: start.upperBound..<page.endIndex))
        return String(page[start.upperBound..<end.lowerBound])
    }

    /// The YAML catalog of items that the documentation shows. It and ``documentedYAML()`` have every key.
    static func documentedItemsYAML() throws -> String {
        let page = try String(contentsOf: root.appendingPathComponent("Documentation/Catalog.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n")
        try #require(blocks.count == 3)
        let end = try #require(blocks[2].range(of: "```"))
        return String(blocks[2][..<end.lowerBound])
    }

    static func documentedApp() throws -> CatalogApp {
        try #require(try CornerstoreCatalogFile.read(Array(try documentedYAML().utf8), file: "catalog.yaml").apps.first)
    }
}

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// Makes catalogs that use everything, with awkward texts.
struct CatalogGenerator {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private static let texts = [
        "", "plain", "two words", "yes", "null", "true", "1.50", "0x1F", "- item", "a: b", "# not a comment",
        "\"quoted\"", "it's", "*bold*",
        "&amp", "tab\there", "line\nbreak", "\r\n", "back\\slash", "全功能包月", "اشتراك", "🐒🍌", "\u{85}\u{2028}\u{FEFF}",
        "\u{1}\u{7F}", " lead",
        "trail ", "{[", "}", "%tag", "@at", "`tick", "!tag", "|", ">", "?", ":", "-", "~", "...", "---", "=", "<<",
    ]

    mutating func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
    mutating func optional<Value>(_ make: (inout Self) -> Value) -> Value? { random.chance(50) ? make(&self) : nil }
    mutating func list<Value>(_ upTo: Int, _ make: (inout Self) -> Value) -> [Value] {
        (0..<Int.random(in: 0...upTo, using: &random)).map { _ in make(&self) }
    }
    mutating func hex() -> String {
        String((0..<8).map { _ in "0123456789ABCDEF".randomElement(using: &random) ?? "0" })
    }
    mutating func amount() -> Int64 { Int64.random(in: 0...Money.largest, using: &random) }

    mutating func json(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 2 ? 4 : 6), using: &random) {
        case 0: .null
        case 1: .bool(random.chance(50))
        case 2:
            .number(
                ["0", "-1.50", "1e400", "123456789012345678901234567890", "0.1"].randomElement(using: &random) ?? "0")
        case 3: .string(text())
        case 4: .array(list(3) { $0.json(depth: depth + 1) })
        default: .object(unknown(depth: depth + 1))
        }
    }

    mutating func unknown(depth: Int = 0) -> [String: JSONValue] {
        guard random.chance(40) else { return [:] }
        return Dictionary(list(3) { ("unknown \($0.text())", $0.json(depth: depth + 1)) }, uniquingKeysWith: { $1 })
    }

    mutating func prices(everywhere: Bool) -> CatalogPrices {
        guard !everywhere, random.chance(50) else {
            return CatalogPrices(amount: amount(), byStorefront: [:], byCurrency: [:])
        }
        return CatalogPrices(
            amount: amount(), byStorefront: ["JPN": amount(), "DEU": amount()], byCurrency: ["EUR": amount()])
    }

    mutating func localizations() -> [CatalogLocalization] {
        ["en_US", "de", "zh-Hans"].prefix(Int.random(in: 0...3, using: &random)).map { locale in
            CatalogLocalization(
                locale: locale, displayName: text(), description: optional { $0.text() }, unknown: unknown())
        }
    }

    mutating func period() -> SubscriptionPeriod {
        SubscriptionPeriod(
            unit: SubscriptionPeriod.Unit.allCases.randomElement(using: &random) ?? .day,
            count: Int.random(in: 1...999, using: &random)
        )
    }

    mutating func offer(plain: Bool, id: Bool) -> CatalogOffer {
        let mode = OfferDescription.PaymentMode.allCases.randomElement(using: &random) ?? .free
        return CatalogOffer(
            offerID: id ? "offer-\(text())" : optional { $0.text() }, referenceName: optional { $0.text() },
            internalID: hex(),
            paymentMode: mode, prices: mode == .free ? nil : prices(everywhere: plain), period: period(),
            numberOfPeriods: optional { Int.random(in: 1...12, using: &$0.random) },
            eligibility: optional { _ in ["new", "expired"] },
            isStackable: optional { $0.random.chance(50) }, billingPlanType: optional { _ in "MONTHLY" },
            unknown: unknown()
        )
    }

    mutating func subscription(_ group: SubscriptionGroupID, plain: Bool, major: Int) -> CatalogSubscription {
        CatalogSubscription(
            groupID: group, level: Int.random(in: 1...9, using: &random), period: period(),
            introductoryOffers: list(major >= 5 ? 3 : 1) { $0.offer(plain: plain, id: false) },
            promotionalOffers: list(3) { $0.offer(plain: plain, id: true) },
            codeOffers: list(2) {
                var offer = $0.offer(plain: plain, id: false)
                // Codes need one name for each offer.
                offer.referenceName = "\($0.text()) \($0.hex())"
                return offer
            },
            winBackOffers: list(2) { $0.offer(plain: plain, id: false) },
            billingPlans: list(major >= 5 ? 2 : 0) {
                CatalogBillingPlan(
                    type: "MONTHLY", amount: $0.amount(), commitmentAmount: $0.optional { $0.amount() },
                    internalID: $0.hex(),
                    isEnabled: $0.optional { $0.random.chance(50) }, unknown: $0.unknown()
                )
            }
        )
    }

    mutating func product(_ index: Int, _ kind: ProductKind, _ subscription: CatalogSubscription?, plain: Bool)
        -> CatalogProduct
    {
        let availabilities: [CatalogAvailability] = [.everywhere, .only(["USA", "JPN"]), .except(["CHN"]), .only([])]
        return CatalogProduct(
            productID: ProductID("com.example.made.p\(index)"), kind: kind, referenceName: optional { $0.text() },
            internalID: random.chance(30) ? String(6_700_000_000 + index) : hex(),
            prices: kind == .freeSubscription ? .free : prices(everywhere: plain),
            availability: plain ? .everywhere : availabilities.randomElement(using: &random) ?? .everywhere,
            isFamilyShareable: random.chance(50), isHosted: !plain && kind == .nonConsumable,
            localizations: localizations(),
            subscription: subscription, unknown: unknown()
        )
    }

    /// `plain`: only what a `.storekit` file can say.
    mutating func app(_ bundleID: BundleID, plain: Bool) -> CatalogApp {
        let major = Int.random(in: 1...5, using: &random)
        var kinds: [ProductKind] = [.consumable, .nonConsumable, .nonRenewingSubscription]
        if !plain { kinds.append(.freeSubscription) }
        var products = list(6) { generator in
            generator.product(0, kinds.randomElement(using: &generator.random) ?? .consumable, nil, plain: plain)
        }
        let groups = (0..<Int.random(in: 0...3, using: &random)).map { index in
            CatalogSubscriptionGroup(
                id: SubscriptionGroupID("group\(index)"), name: text(), localizations: localizations(),
                unknown: unknown()
            )
        }
        for group in groups {
            products += list(3) { generator in
                let subscription = generator.subscription(group.id, plain: plain, major: major)
                return generator.product(0, .autoRenewableSubscription, subscription, plain: plain)
            }
        }
        for index in products.indices { products[index].productID = ProductID("com.example.made.p\(index)") }
        let settings = CatalogSettings(
            identifier: hex(), version: StoreKitFileVersion(major: major, minor: Int.random(in: 0...9, using: &random)),
            storefront: optional { _ in "JPN" }, locale: optional { _ in "ja_JP" },
            applicationInternalID: optional { _ in "1234567890" },
            unknown: unknown()
        )
        return CatalogApp(
            bundleID: bundleID, name: plain ? nil : optional { $0.text() }, products: products, groups: groups,
            settings: settings,
            unknown: unknown()
        )
    }
}
