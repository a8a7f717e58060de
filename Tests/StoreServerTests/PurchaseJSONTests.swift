import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreServer

@Suite("A purchase's JSON by hand agrees with Foundation's coders", .timeLimit(.minutes(1)))
struct PurchaseJSONTests {
    /// Gives what both make of it, after the check that they do not differ where the one by hand has an opinion.
    @discardableResult
    private func compare(_ json: [UInt8]) -> (usual: PurchaseRequest?, decoded: PurchaseRequest?) {
        let usual = PurchaseRequest(usualJSON: json.span)
        let decoded = try? JSONDecoder().decode(PurchaseRequest.self, from: Data(json))
        if let usual { #expect(usual == decoded, "\(String(decoding: json, as: UTF8.self))") }
        return (usual, decoded)
    }

    @Test func requestsAsTheyAreWritten() throws {
        var random = SeededGenerator(seed: 1)
        var taken = 0
        for round in 0..<2000 {
            let request = random.request()
            let encoder = JSONEncoder()
            encoder.outputFormatting = [[], .sortedKeys, .prettyPrinted, .withoutEscapingSlashes][round % 4]
            let (usual, decoded) = compare([UInt8](try encoder.encode(request)))
            #expect(decoded == request)
            if usual != nil { taken += 1 }
        }
        // Enough of them are read by hand for the comparison to mean something.
        #expect(taken > 200)
    }

    @Test func anOrdinaryRequestIsReadByHand() throws {
        let request = PurchaseRequest(
            idempotencyKey: UUID(), bundleID: "com.example.monkeys", productID: "credits5", quantity: 10,
            applicationUsername: "Kéwin 🐒", simulatesAskToBuy: false,
            agreedPrice: Money(milliunits: 990, currency: "USD"))
        #expect(compare([UInt8](try JSONEncoder().encode(request))).usual == request)
        var shorter = request
        shorter.agreedPrice = nil
        shorter.applicationUsername = nil
        #expect(compare([UInt8](try JSONEncoder().encode(shorter))).usual == shorter)
    }

    @Test func requestsThatAByteWasChangedIn() throws {
        var random = SeededGenerator(seed: 2)
        let odd: [[UInt8]] =
            [
                #"\u0041"#, #"\u0000"#, #"\ud83d\ude48"#, #"\ud800"#, #"\""#, "null", "true", "1e1", "-0", "01", "1.0",
                "99999999999999999999", "[]", "{}", ",", ":", "\"", "\u{0}", "é", "\u{FEFF}", "//",
                #","quantity":2"#, #","agreedPrice":null"#, #","more":{"a":[1]}"#,
            ].map { Array($0.utf8) } + [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xFF], [0xF4, 0x90, 0x80, 0x80]]
        var taken = 0
        for _ in 0..<20_000 {
            var plain = random.request()
            plain.bundleID = "com.example"
            plain.productID = "credits5"
            plain.quantity = 3
            var json = [UInt8](try JSONEncoder().encode(plain))
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                let at = Int.random(in: 0..<json.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: json[at] = UInt8.random(in: .min ... .max, using: &random)
                case 1: json.remove(at: at)
                case 2: json.insert(contentsOf: odd.randomElement(using: &random) ?? [], at: at)
                default: json.removeSubrange(at..<min(json.count, at + 20))
                }
                if json.isEmpty { break }
            }
            if compare(json).usual != nil { taken += 1 }
        }
        #expect(taken > 100)
    }

    static let key = "7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6F"
    static let start = #"{"idempotencyKey":"\#(key)","bundleID":"b","productID":"p","simulatesAskToBuy":false"#

    @Test(arguments: [
        #","quantity":1}"#, #" , "quantity" : 1 } "#, #","quantity":1}x"#, #","quantity":1},"#, #","quantity":1"#,
        #","quantity":1,"quantity":2}"#, #","quantity":1,"productID":"q"}"#, #","quantity":1,"bundleID":"c"}"#,
        #","quantity":1,"applicationUsername":null}"#, #","quantity":1,"applicationUsername":7}"#,
        #","quantity":1,"applicationUsername":"a\u0000b"}"#, #","quantity":1,"applicationUsername":"\ud83d\ude48"}"#,
        #","quantity":1,"applicationUsername":"\ud83d"}"#, #","quantity":1,"applicationUsername":""}"#,
        #","quantity":1,"agreedPrice":null}"#, #","quantity":1,"agreedPrice":{}}"#, #","quantity":1,"agreedPrice":[]}"#,
        #","quantity":1,"agreedPrice":{"milliunits":990,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"currency":"USD","milliunits":0}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":990}}"#, #","quantity":1,"agreedPrice":{"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":990,"milliunits":1,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":"990","currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":-990,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":9.9e2,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":999999999999999,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":9223372036854775808,"currency":"USD"}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":1,"currency":"USD","more":1}}"#,
        #","quantity":1,"agreedPrice":{"milliunits":1,"currency":"USD"},"agreedPrice":{"milliunits":2,"currency":"USD"}}"#,
        #","quantity":1,"more":1}"#, #","quantity":1,"more":{"quantity":2}}"#, #","quantity":01}"#, #","quantity":-1}"#,
        #","quantity":+1}"#, #","quantity":1.0}"#, #","quantity":1e0}"#, #","quantity":"1"}"#, #","quantity":true}"#,
        #","quantity":null}"#, #","quantity":100}"#, #","quantity":99999999999999999999}"#, #","quantity":}"#,
        #","quant\u0069ty":1}"#, #","Quantity":1}"#, #","quantity ":1}"#, #","quantity":1,}"#, #",,"quantity":1}"#, "}",
        #","simulatesAskToBuy":true,"quantity":1}"#, #","idempotencyKey":"x","quantity":1}"#,
        #","quantity":1,"applicationUsername":"\u0061\/\b"}"#, "\n\t,\r\"quantity\":1}\n", "\u{0},\"quantity\":1}",
    ])
    func oddRequests(_ rest: String) { compare(Array((Self.start + rest).utf8)) }

    @Test(arguments: [
        "", " ", "null", "[]", "{}", "1", "\"\"", "{", "\u{FEFF}{}", "{\"idempotencyKey\":\"\"}",
        #"{"idempotencyKey":"7a4f6c1e-0b5d-4e58-9d6c-1b2a3c4d5e6f","bundleID":"b","productID":"p","quantity":1,"simulatesAskToBuy":true}"#,
        #"{"idempotencyKey":"7A4F6C1E0B5D4E589D6C1B2A3C4D5E6F","bundleID":"b","productID":"p","quantity":1,"simulatesAskToBuy":true}"#,
        #"{"idempotencyKey":"{7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6F}","bundleID":"b","productID":"p","quantity":1,"simulatesAskToBuy":true}"#,
        #"{"idempotencyKey":"7A4F6C1E-0B5D-4E58-9D6C-1B2A3C4D5E6F\#u{0}","bundleID":"b","productID":"p","quantity":1,"simulatesAskToBuy":1}"#,
    ])
    func oddBeginnings(_ json: String) {
        compare(Array(json.utf8))
        // Foundation guesses UTF-16 and UTF-32 as well.
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian] {
            compare([UInt8](json.data(using: encoding) ?? Data()))
        }
    }

    @Test func responsesAreReadBackAsTheyWere() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            let response = random.response()
            let json = try #require(response.usualJSON)
            #expect(try JSONDecoder().decode(PurchaseResponse.self, from: Data(json)) == response)
        }
        let failure = PurchaseResponse(
            state: .failed, transaction: nil, failure: WireError(code: .paymentDeclined, message: "no"))
        #expect(failure.usualJSON == nil)
    }
}

extension SeededGenerator {
    fileprivate mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &self) == 0 }

    fileprivate mutating func text() -> String {
        let pieces = [
            "a", "com.example", "é", "e\u{301}", "🙈", "\"", "\\", "/", "\u{0}", "\u{1F}", "\n", "\u{7F}",
            "\u{2028}",
            "\u{FEFF}", "\u{10FFFF}", " ", "{", "1",
        ]
        let isPlain = chance(2)
        return (0..<Int.random(in: 0...8, using: &self)).map { _ in
            isPlain ? "x" : pieces.randomElement(using: &self) ?? ""
        }.joined()
    }

    fileprivate mutating func uuid() -> UUID {
        let (high, low) = (next(), next())
        return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    fileprivate mutating func number() -> Int64 {
        [0, 1, 9, 10, 99, 100, -1, 999_999_999_999_999, 1_000_000_000_000_000, .max, .min].randomElement(
            using: &self)
            ?? 0
    }

    fileprivate mutating func request() -> PurchaseRequest {
        PurchaseRequest(
            idempotencyKey: uuid(), bundleID: BundleID(text()), productID: ProductID(text()),
            quantity: Int(number()), applicationUsername: chance(2) ? nil : text(), simulatesAskToBuy: chance(2),
            agreedPrice: chance(2) ? nil : Money(milliunits: number(), currency: chance(3) ? text() : "USD"))
    }

    fileprivate mutating func response() -> PurchaseResponse {
        let id = TransactionID(rawValue: Int64.random(in: 1..<1 << 53, using: &self))
        let transaction = TransactionDescription(
            transactionID: id,
            originalTransactionID: chance(2) ? id : TransactionID(rawValue: 1), bundleID: BundleID(text()),
            productID: ProductID(text()), kind: ProductKind.allCases.randomElement(using: &self) ?? .consumable,
            quantity: Int(number()), purchaseDate: number(), originalPurchaseDate: number(),
            expiresDate: chance(2) ? nil : number(), applicationUsername: chance(2) ? nil : text(),
            idempotencyKey: chance(2) ? nil : uuid())
        return PurchaseResponse(
            state: [.purchased, .deferred, .failed].randomElement(using: &self) ?? .purchased,
            transaction: chance(4) ? nil : transaction, failure: nil)
    }
}
