import Foundation
import StoreWire
import Testing

@testable import StoreKit

@Suite("Error texts in the customer's language", .timeLimit(.minutes(1)))
struct ErrorTextsTests {
    @Test(arguments: ErrorTexts.Key.allCases)
    func `every text exists in every language, and no two are the same`(key: ErrorTexts.Key) throws {
        let row = try #require(ErrorTexts.table[key])
        #expect(row.count == ErrorTexts.Language.allCases.count)
        #expect(Set(row).count == row.count)
        for text in row {
            #expect(!text.isEmpty && text == text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    @Test(arguments: ErrorTexts.Key.allCases)
    func `a language is written in its own script`(key: ErrorTexts.Key) {
        func hasScript(_ language: ErrorTexts.Language, _ range: ClosedRange<UInt32>) -> Bool {
            ErrorTexts.text(key, in: language).unicodeScalars.contains { range.contains($0.value) }
        }
        #expect(hasScript(.russian, 0x400...0x4FF))
        #expect(hasScript(.simplifiedChinese, 0x4E00...0x9FFF) && hasScript(.traditionalChinese, 0x4E00...0x9FFF))
        #expect(hasScript(.japanese, 0x3040...0x30FF))
        for language in [ErrorTexts.Language.english, .portuguese, .french, .german, .spanish] {
            #expect(!hasScript(language, 0x400...0x4FF) && !hasScript(language, 0x3000...0x9FFF))
        }
    }

    @Test(arguments: [
        ("en", "en"), ("pt-BR", "pt"), ("pt_PT.UTF-8", "pt"), ("ru_RU", "ru"), ("zh", "zh-Hans"), ("zh_CN", "zh-Hans"),
        ("zh-Hans-TW", "zh-Hans"), ("zh-Hant-TW", "zh-Hant"), ("zh_TW", "zh-Hant"), ("zh-HK", "zh-Hant"),
        ("zh-Hant", "zh-Hant"), ("ZH-hant-hk", "zh-Hant"), ("fr-CA", "fr"), ("de@euro", "de"), ("es-419", "es"),
        ("ja", "ja"), ("tlh", "en"), ("", "en"), ("-", "en"), ("sv,fr,de", "fr"), ("zhx,de", "de"),
    ])
    func `a missing language falls back to an available one`(tags: String, language: String) {
        #expect(
            ErrorTexts.Language(preferred: tags.split(separator: ",").map(String.init)).rawValue == language, "\(tags)")
    }

    @Test func `the names on the wire are those of the codes`() {
        for (raw, name) in OrderedError.storeKitNames.enumerated() {
            #expect(SKError.Code(rawValue: raw).map { "\($0)" } == name)
        }
        #expect(SKError.Code(rawValue: OrderedError.storeKitNames.count) == nil)
    }

    @Test(arguments: OrderedError.names)
    func `an ordered error arrives with its code, domain and text`(name: String) throws {
        let ordered = try #require(OrderedError(name: name))
        let refusal = WireError(code: .ordered, message: "Ordered.", error: ordered)
        let error = PaymentFailure(refusal: refusal).error(in: ["de"])
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        if ordered.domain == OrderedError.storeKitDomain {
            #expect(error.code.rawValue == ordered.code && underlying == nil)
        } else {
            #expect(error.code == .unknown)
            #expect(underlying?.domain == "SSServerErrorDomain" && underlying?.code == ordered.code)
            #expect(underlying?.localizedDescription == error.localizedDescription)
        }
        #expect(ErrorTexts.table.values.contains { $0[6] == error.localizedDescription })
    }

    @Test func `the servers' texts are Apple's`() throws {
        func text(_ code: Int) throws -> String {
            let ordered = try #require(OrderedError(name: "SSServerErrorDomain/\(code)"))
            return PaymentFailure(refusal: WireError(code: .ordered, message: "", error: ordered)).error
                .localizedDescription
        }
        #expect(try text(0) == "Cannot connect to iTunes Store")
        #expect(try text(5020) == "Forget Your Password?")
        #expect(try text(5002) == "An unknown error has occurred.")
    }

    @Test func `an ordered error that StoreKit does not have is an ordinary failure`() {
        for error in [
            OrderedError(domain: "SKErrorDomain", code: 99), OrderedError(domain: "NSCocoaErrorDomain", code: 4),
        ] {
            let failure = PaymentFailure(refusal: WireError(code: .ordered, message: "Odd.", error: error))
            #expect(failure.error.code == .unknown && failure.text == "Odd.")
        }
    }

    @Test func `English shows the store's own text, and other languages show the table's`() {
        let failure = PaymentFailure(refusal: WireError(code: .paymentDeclined, message: "Visa said no."))
        #expect(failure.error(in: ["en_GB"]).localizedDescription == "Visa said no.")
        #expect(failure.error(in: ["fr_FR"]).localizedDescription == "Votre paiement a été refusé.")
        let unnamed = PaymentFailure(refusal: WireError(code: "new_reason", message: "New."))
        #expect(unnamed.error(in: ["fr"]).localizedDescription == "New.")
    }

    @Test func `a failure in an older journal can be read`() throws {
        let old = Data(#"{"code":0,"text":"Cannot connect to iTunes Store"}"#.utf8)
        let failure = try JSONDecoder().decode(PaymentFailure.self, from: old)
        #expect(failure.error(in: ["ja"]).localizedDescription == "Cannot connect to iTunes Store")
    }
}
