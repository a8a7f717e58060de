import Foundation
import StoreWire
import TestSupport
import Testing

@Suite("Identifiers travel as the text they are")
struct IdentifiersTests {
    @Test(arguments: [
        ("1", 1), ("470000000000123", 470_000_000_000_123), ("2000000123456789", 2_000_000_123_456_789),
        ("9007199254740991", 9_007_199_254_740_991),
    ])
    func readsATransactionID(text: String, number: Int64) {
        #expect(TransactionID(text) == TransactionID(rawValue: number))
        #expect(TransactionID(rawValue: number).description == text)
    }

    @Test(arguments: [
        "", "0", "-1", "+1", " 1", "1 ", "1.0", "0x1", "1e3", "abc", "9007199254740992", "9999999999999999",
        "10000000000000000", "00000000000000001", "٣", "１２", "1\0", "1\n",
    ])
    func refusesATransactionID(text: String) {
        #expect(TransactionID(text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([TransactionID].self, from: JSONEncoder().encode([text]))
        }
    }

    @Test(arguments: ["[1]", "[null]", "[1.5]", "[[]]", "[true]"])
    func refusesATransactionIDThatIsNotAString(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([TransactionID].self, from: Data(json.utf8)) }
    }

    @Test func transactionIDsSurviveJSONAndKeepTheirOrder() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            let ids = (0..<2).map { _ in
                let largest = ((Int64(1) << 53) - 1) >> Int64.random(in: 0...50, using: &generator)
                return TransactionID(rawValue: Int64.random(in: 1...largest, using: &generator))
            }
            #expect(try JSONDecoder().decode([TransactionID].self, from: JSONEncoder().encode(ids)) == ids)
            #expect((ids[0] < ids[1]) == (ids[0].rawValue < ids[1].rawValue))
        }
    }

    @Test func namesAreEncodedAsBareStrings() throws {
        let product: ProductID = "com.example.monkeys.credits5"
        #expect(
            String(decoding: try JSONEncoder().encode([product]), as: UTF8.self) == "[\"com.example.monkeys.credits5\"]"
        )
        #expect(try JSONDecoder().decode([ProductID].self, from: Data("[\"a\"]".utf8)) == ["a"])
        #expect("\(product)" == product.rawValue)
        #expect(BundleID("a") < BundleID("b"))
    }
}
