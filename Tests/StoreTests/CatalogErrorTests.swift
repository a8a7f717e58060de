import StoreWire
import Testing

@testable import Store

/// Which file says what, and where.
@Suite(.timeLimit(.minutes(1))) struct CatalogErrorTests {
    /// A small file with one product on lines 3 to 8 and one subscription on lines 10 to 16.
    private static let sound = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
          {
           "displayPrice": "0.99", "type": "Consumable",
           "localizations": [{"locale": "en_US", "displayName": "A", "description": ""}],
           "productID": "com.example.one",
           "familyShareable": false
          }],
         "subscriptionGroups": [{"id": "G1", "name": "g", "subscriptions": [{
           "productID": "com.example.two", "type": "RecurringSubscription",
           "displayPrice": "1.99",
           "recurringSubscriptionPeriod": "P1M",
           "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
           "adHocOffers": [{"offerID": "o", "paymentMode": "payUpFront", "subscriptionPeriod": "P1M", "displayPrice": "1"}],
           "subscriptionGroupID": "G1", "groupNumber": 1}]
         }]}
        """

    private static let table: [(String, String, Int, String, String)] = [
        (#""0.99""#, #""0,99""#, 4, "products[0].displayPrice", "is not a price"),
        (#""0.99""#, #""-1""#, 4, "products[0].displayPrice", "is not a price"),
        (#""0.99""#, #""0.9999""#, 4, "products[0].displayPrice", "is not a price"),
        (#""0.99""#, #""99999999""#, 4, "products[0].displayPrice", "is not a price"),
        (#""0.99""#, #"0.99"#, 4, "products[0].displayPrice", "expected a string, found a number"),
        (#""displayPrice": "0.99", "#, "", 3, "products[0].displayPrice", "is missing"),
        (
            #""type": "Consumable""#, #""type": "Consumeable""#, 4, "products[0].type",
            "it is one of Consumable, NonConsumable"
        ),
        (#""type": "Consumable""#, #""type": "RecurringSubscription""#, 4, "products[0].type", "is not a valid type"),
        (#", "type": "Consumable""#, "", 3, "products[0].type", "is missing"),
        (
            #""com.example.one""#, #""com.example.two""#, 10, "subscriptionGroups[0].subscriptions[0].productID",
            "on line 3"
        ),
        (#""com.example.one""#, #""""#, 6, "products[0].productID", "0 bytes"),
        (#""com.example.one""#, #""com example""#, 6, "products[0].productID", "a space"),
        (#""com.example.one""#, #""\#(String(repeating: "x", count: 256))""#, 6, "products[0].productID", "256 bytes"),
        (#""com.example.one""#, "null", 3, "products[0].productID", "is missing"),
        (#""familyShareable": false"#, #""familyShareable": "no""#, 7, "products[0].familyShareable", "true or false"),
        (#""locale": "en_US", "#, "", 5, "products[0].localizations[0].locale", "is missing"),
        (#""locale": "en_US""#, #""locale": "English""#, 5, "products[0].localizations[0].locale", "is not a locale"),
        (#""displayName": "A", "#, "", 5, "products[0].localizations[0].displayName", "is missing"),
        (
            #""description": ""}]"#, #""description": ""},{"locale":"en_US","displayName":"B"}]"#, 5,
            "products[0].localizations[1].locale", "twice"
        ),
        (#"{"major": 4, "minor": 0}"#, #"{"major": 6, "minor": 0}"#, 1, "version.major", "version 6 is not supported"),
        (#""version": {"major": 4, "minor": 0}, "#, "", 1, "version", "is missing"),
        (#""_storefront": "USA""#, #""_storefront": "US""#, 1, "settings._storefront", "alpha-3"),
        (#""_locale": "en_US""#, #""_locale": "e""#, 1, "settings._locale", "is not a locale"),
        (
            #""P1M","#, #""1M","#, 12, "subscriptionGroups[0].subscriptions[0].recurringSubscriptionPeriod",
            "is not a period"
        ),
        (
            #""recurringSubscriptionPeriod": "P1M","#, "", 9,
            "subscriptionGroups[0].subscriptions[0].recurringSubscriptionPeriod", "is missing"
        ),
        (
            #""subscriptionGroupID": "G1""#, #""subscriptionGroupID": "G2""#, 15,
            "subscriptionGroups[0].subscriptions[0].subscriptionGroupID", "G1"
        ),
        (
            #""groupNumber": 1"#, #""groupNumber": 0"#, 15, "subscriptionGroups[0].subscriptions[0].groupNumber",
            "from 1"
        ),
        (
            #""paymentMode": "free""#, #""paymentMode": "gratis""#, 13,
            "subscriptionGroups[0].subscriptions[0].introductoryOffer.paymentMode", "payAsYouGo"
        ),
        (
            #", "displayPrice": "1"}"#, "}", 14, "subscriptionGroups[0].subscriptions[0].adHocOffers[0].displayPrice",
            "is missing"
        ),
        (#""offerID": "o", "#, "", 14, "subscriptionGroups[0].subscriptions[0].adHocOffers[0].offerID", "is missing"),
        (#""id": "G1", "#, "", 9, "subscriptionGroups[0].id", "is missing"),
    ]

    @Test func theUndamagedFileHasNoProblems() throws {
        let contents = try StoreKitConfigurationFile.read(Array(Self.sound.utf8), file: "a.storekit", bundleID: nil)
        #expect(contents.apps.first?.products.count == 2)
    }

    @Test(arguments: table.indices) func errorsNameThePlace(index: Int) throws {
        let (old, new, line, keyPath, words) = Self.table[index]
        let range = try #require(Self.sound.firstRange(of: old))
        let text = Self.sound.replacingCharacters(in: range, with: new)
        let error = #expect(throws: CatalogError.self) {
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "a.storekit", bundleID: "com.example")
        }
        let problem = try #require(error?.problems.first)
        #expect(error?.problems.count == 1, "\(error?.detail ?? "")")
        #expect(problem.file == "a.storekit")
        #expect(problem.line == line)
        #expect(problem.keyPath == keyPath)
        #expect(problem.message.contains(words), "\(problem)")
    }

    @Test func allProblemsAreReported() throws {
        let text = Self.sound.replacing(#""0.99""#, with: "7").replacing("P1W", with: "W").replacing(
            "com.example.two", with: "")
        let error = #expect(throws: CatalogError.self) {
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "a.storekit", bundleID: nil)
        }
        #expect(error?.problems.compactMap(\.line) == [4, 13, 10])
        #expect(
            error?.detail.split(separator: "\n").first
                == "a.storekit:4:20: products[0].displayPrice: expected a string, found a number")
    }

    @Test(arguments: [
        ("", 1, 1, "expected a value, found the end"), ("{", 1, 2, "expected a key in quotes, found the end"),
        ("{\n  \"a\" 1}", 2, 7, "expected \":\", found"),
        ("[1,\n2,\n]", 3, 1, "expected a value"), ("{\"a\": tru}", 1, 7, "found \"t\""),
        ("{} x", 1, 4, "more after the end"),
        ("{\"é\": 01}", 1, 7, "not a number"), ("{\"a\":1,\n \"a\":2}", 2, 5, "appears twice"),
        ("\"ab", 1, 4, "inside a string"),
        ("\"a\nb\"", 1, 3, "control character"), ("\"\\ud800\"", 1, 8, "half a character"),
        ("\"\\u0000\"", 1, 8, "NUL"),
        ("\"\\x\"", 1, 4, "escape"),
    ])
    func syntaxErrorsNameLineAndColumn(text: String, line: Int, column: Int, words: String) {
        let error = #expect(throws: CatalogError.self) { try JSONParser.parse(Array(text.utf8), file: "a") }
        #expect(error?.code == .syntax)
        #expect(error?.problems.first?.line == line)
        #expect(error?.problems.first?.column == column)
        #expect(error?.problems.first?.message.contains(words) == true, "\(error?.detail ?? "")")
    }

    @Test func badUTF8IsRefused() {
        let error = #expect(throws: CatalogError.self) { try JSONParser.parse([0x22, 0xFF, 0x22], file: "a") }
        #expect(error?.code == .syntax)
    }

    @Test func aPrivateKeyIsNotInErrors() throws {
        let text =
            #"{"version":{"major":4},"subscriptionOffersKeyPair":{"id":"K","privateKey":"c2VjcmV0"},"products":7}"#
        let error = #expect(throws: CatalogError.self) {
            try StoreKitConfigurationFile.read(Array(text.utf8), file: "a", bundleID: nil)
        }
        #expect(error?.detail.contains("c2VjcmV0") == false)
    }
}
