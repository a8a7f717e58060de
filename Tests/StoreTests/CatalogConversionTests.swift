import Foundation
import StoreWire
import TestSupport
import Testing

@testable import Store

/// For every `.storekit` file that is read: made into YAML, checked, and made into a `.storekit` file again, it
/// describes the same app.
@Suite("Converted catalogs", .timeLimit(.minutes(1))) struct CatalogConversionTests {
    static func storeKit(_ text: String) throws -> CatalogApp {
        try #require(
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "A.storekit", bundleID: "com.example.made").apps
                .first)
    }

    /// Converts there and back, and expects the same app, byte by byte.
    private static func expectSame(_ app: CatalogApp, _ comment: Comment? = nil) throws {
        let yaml = CornerstoreCatalogFile.text(of: [app])
        let read = try CornerstoreCatalogFile.read(Array(yaml.utf8), file: "A.yaml")
        #expect(read.apps == [app], comment)
        #expect(read.notes.allSatisfy { $0.contains("describes no product") }, comment)
        #expect(YAMLHazards.find(Array(yaml.utf8)) == nil, comment)
        let back = StoreKitConfigurationFile.text(of: try #require(read.apps.first)).text
        let again = try #require(
            try StoreKitConfigurationFile.read(Array(back.utf8), file: "B.storekit", bundleID: app.bundleID).apps.first)
        #expect(again == app, comment)
        // `==` of strings takes canonically equivalent texts for equal; the bytes are the same, too.
        #expect(StoreKitConfigurationFile.text(of: app).text.utf8.elementsEqual(back.utf8), comment)
        #expect(CornerstoreCatalogFile.text(of: [again]).utf8.elementsEqual(yaml.utf8), comment)
    }

    @Test(.enabled(if: CatalogFixtures.isPresent), arguments: CatalogFixtures.names)
    func realFilesDescribeTheSameAfterwards(name: String) throws { try Self.expectSame(CatalogFixtures.app(name)) }

    @Test(arguments: ["MonkeyCredits", "PhotoFilters"]) func theSamplesAreUnchangedByConversion(name: String) throws {
        let file = CatalogFixtures.root.appendingPathComponent("Examples/\(name)/\(name).storekit")
        let app = try StoreKitConfigurationFile.read(
            [UInt8](try Data(contentsOf: file)), file: name, bundleID: nil
        ).apps.first
        try Self.expectSame(try #require(app))
    }

    @Test(arguments: StoreKitFileForge.Filling.allCases) func generatedFilesAreUnchangedByConversion(
        filling: StoreKitFileForge.Filling
    ) throws {
        var products = 0
        for seed in 0..<(filling == .mixed ? 300 : 5) as Range<UInt64> {
            var forge = StoreKitFileForge(random: SeededGenerator(seed: seed), filling: filling)
            let app = try Self.storeKit(forge.document().xcodeText)
            products += app.products.count
            try Self.expectSame(app, "\(filling), seed \(seed)")
        }
        #expect((products > 0) == (filling == .mixed || filling == .filled))
    }

    private static func file(offers: String, version: Int = 5) -> String {
        """
        {"version":{"major":\(version),"minor":0},"subscriptionGroups":[{"id":"G","name":"g","subscriptions":[{\(offers),
        "productID":"com.example.a.b","displayPrice":"1","recurringSubscriptionPeriod":"P1Y","type":"RecurringSubscription",
        "subscriptionGroupID":"G","internalID":"B","groupNumber":2}]}]}
        """
    }

    @Test func aFreeOfferKeepsThePriceThatXcodeLeftThere() throws {
        let app = try Self.storeKit(
            Self.file(
                offers:
                    #""introductoryOffers":[{"paymentMode":"free","subscriptionPeriod":"P1W","displayPrice":"1.990","internalID":"A"}]"#
            ))
        try Self.expectSame(app)
        #expect(StoreKitConfigurationFile.text(of: app).text.contains("\"displayPrice\" : \"1.990\""))
        let offer = try #require(app.products.first?.subscription?.introductoryOffers.first)
        #expect(offer.description(in: .unitedStates).price.milliunits == 0)
    }

    @Test(arguments: [
        (#"{"A"}"#, #"{"A"}"#, 1), (#"{"A"}"#, #"{"A"},{"C"}"#, 2), (#"{"C"}"#, #"{"A"},{"C"}"#, 2),
        (#"{"D"}"#, #"{"A"}"#, 2), (#"{}"#, #"{}"#, 1), (#"{}"#, #"{"A"}"#, 1), (#"{"A"}"#, #"{}"#, 1),
    ])
    func anOfferUnderBothKeysIsOneOffer(single: String, list: String, count: Int) throws {
        func offers(_ text: String) -> String {
            text.replacingOccurrences(of: "{\"", with: "{\"internalID\":\"")
                .replacingOccurrences(of: "}", with: ",\"paymentMode\":\"free\",\"subscriptionPeriod\":\"P1W\"}")
                .replacingOccurrences(of: "{,", with: "{")
        }
        for version in 1...5 {
            let app = try Self.storeKit(
                Self.file(
                    offers: "\"introductoryOffer\":\(offers(single)),\"introductoryOffers\":[\(offers(list))]",
                    version: version))
            #expect(app.products.first?.subscription?.introductoryOffers.count == count, "\(version)")
            #expect(app.settings.version.major == (count > 1 ? 5 : version))
            try Self.expectSame(app)
        }
    }

    @Test func deepAndLongValuesAreConverted() throws {
        let depth = CatalogLimits.depth - 1
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let key = String(repeating: "\\u0001", count: CatalogLimits.key)
        let text = """
            {"version":{"major":4,"minor":1000000},"products":[{"productID":"com.example.a.b","type":"Consumable",
            "displayPrice":"1"}],"deep":\(nested),"\(key)":true}
            """
        try Self.expectSame(Self.storeKit(text))
        let long = text.replacingOccurrences(of: key, with: key + "x")
        #expect(throws: CatalogError.self) { try Self.storeKit(long) }
    }

    /// Many texts with what YAML writes in another place for references and keys.
    @Test func aLargeFileWithMarksInItsTextsIsConverted() throws {
        let products = (0..<3_000).map { index in
            #"{"productID":"com.example.a.p\#(index)","type":"Consumable","displayPrice":"1","localizations":[{"locale":"en","displayName":"Really? Yes, *now*: &c [x]: y","description":"\#(String(repeating: "Why? ", count: 20))"}]}"#
        }
        try Self.expectSame(
            Self.storeKit(#"{"version":{"major":4,"minor":0},"products":[\#(products.joined(separator: ","))]}"#))
    }

    @Test(arguments: [
        (#""id":"G""#, "\"id\":\"\u{212A}\""), (#""id":"G""#, "\"id\":\"Gruppe\u{E9}\""),
        (#""id":"G""#, #""id":"a\nb""#), (#""com.example.a.b""#, "\"com.example.\u{212A}\""),
        (#""com.example.a.b""#, "\"com.example.e\u{301}\""),
    ])
    func identifiersArePlain(old: String, new: String) throws {
        let offers = #""adHocOffers":[{"offerID":"o","paymentMode":"free","subscriptionPeriod":"P1W"}]"#
        let text = Self.file(offers: offers).replacingOccurrences(of: #""subscriptionGroupID":"G","#, with: "")
        _ = try Self.storeKit(text)
        #expect(throws: CatalogError.self) { try Self.storeKit(text.replacingOccurrences(of: old, with: new)) }
    }
}
