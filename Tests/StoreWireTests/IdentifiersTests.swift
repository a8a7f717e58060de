import Foundation
import StoreWire
import TestSupport
import Testing

@Suite("Identifiers are encoded as plain text", .timeLimit(.minutes(1)))
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

    @Test func namesAreComparedByteByByte() {
        // Canonically equivalent in pairs.
        let pairs: [(ProductID, ProductID)] = [
            ("K", "\u{212A}"), (";", "\u{37E}"), ("`", "\u{1FEF}"), ("caf\u{E9}", "cafe\u{301}"),
            ("\u{C5}", "\u{212B}"),
        ]
        for (left, right) in pairs {
            #expect(left.rawValue == right.rawValue)
            #expect(!(left == right) && left != right)
            #expect((left < right) != (right < left))
            #expect(Set([left, right]).count == 2)
            let table = [left: 1]
            #expect(table[right] == nil && table[left] == 1)
            #expect([left].firstIndex(of: right) == nil && ![left].contains(right))
            #expect(Optional(left) != Optional(right))
        }
        #expect(ProductID("a") == ProductID("a") && ProductID("a").hashValue == ProductID("a").hashValue)
        #expect(BundleID("Z") < BundleID("a") && BundleID("a") < BundleID("ab"))
    }

    @Test func plainNamesAreVisibleASCII() {
        let longest = String(repeating: "x", count: StoreLimits.identifier)
        for name in ["a", "com.example-1.A_b", "~!;`", longest] { #expect(ProductID(name).isPlain) }
        for name in ["", " ", "a b", "a\n", "a\0", "\u{212A}", "é", longest + "x"] { #expect(!ProductID(name).isPlain) }
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

    /// Each pair is one text to Swift's `==`.
    @Test(arguments: [("Jos\u{e9}", "Jose\u{301}"), ("\u{212b}", "A\u{30a}"), ("\u{212a}", "K"), ("\u{37e}", ";")])
    func namesAreComparedByTheirBytes(one: String, other: String) {
        #expect(one == other)
        let (first, second) = (ProductID(one), ProductID(other))
        #expect(first != second && first == ProductID(one) && Set([first, second, first]).count == 2)
        #expect((first < second) != (second < first) && !(first < first))
        #expect([first: 1][second] == nil && ![first].contains(second) && Optional(first) != Optional(second))
        switch first {
        case second: Issue.record("\(one) and \(other) are one name in a switch")
        default: break
        }
        // Bytes order them as a database does.
        #expect((first < second) == (Array(one.utf8).lexicographicallyPrecedes(Array(other.utf8))))
        #expect(!one.isInNormalizationFormC || !other.isInNormalizationFormC)
    }

    @Test func bytesOrderNamesAndHashThem() {
        var generator = SeededGenerator(seed: 18)
        let letters = ["e", "\u{301}", "\u{e9}", "\u{308}", "\u{323}", "K", "\u{212a}", "\u{1f600}"]
        for _ in 0..<2_000 {
            let names = (0..<2).map { _ in
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    letters[Int.random(in: 0..<letters.count, using: &generator)]
                }.joined()
            }
            let (first, second) = (ProductID(names[0]), ProductID(names[1]))
            let bytes = names.map { Array($0.utf8) }
            #expect((first == second) == (bytes[0] == bytes[1]))
            #expect((first < second) == bytes[0].lexicographicallyPrecedes(bytes[1]))
            if first == second { #expect(first.hashValue == second.hashValue) }
        }
    }
}
