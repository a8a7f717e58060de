import Foundation
import Testing

@testable import CornerstoreEncoding

@Suite(.timeLimit(.minutes(1))) struct FlatJSONObjectTests {
    private func object(_ text: String) throws -> FlatJSONObject { try FlatJSONObject(Array(text.utf8)) }

    @Test func membersAreReadByNameAndType() throws {
        let found = try object(
            #" {"s":"a\u00e9\n","plain":"ü","n":1.5e3,"i":-12,"big":123456789012345678,"t":true,"f":false,"o":{"s":"in"},"a":[1],"z":null} "#
        )
        #expect(try found.string("s") == "aé\n" && found.string("plain") == "ü")
        #expect(try found.number("n") == 1_500 && found.number("i") == -12)
        #expect(try found.wholeNumber("i") == -12 && found.wholeNumber("big") == 123_456_789_012_345_678)
        #expect(try found.flag("t") == true && found.flag("f") == false)
        let inner = try found.object("o")
        #expect(try inner?.string("s") == "in")
        for name in ["z", "none", "S", "ss"] as [StaticString] { #expect(try found.string(name) == nil, "\(name)") }
        #expect(throws: FlatJSONScanner.Failure.self) { try found.string("n") }
        #expect(throws: FlatJSONScanner.Failure.self) { try found.number("s") }
        #expect(throws: FlatJSONScanner.Failure.self) { try found.wholeNumber("n") }
        #expect(throws: FlatJSONScanner.Failure.self) { try found.flag("i") }
        #expect(throws: FlatJSONScanner.Failure.self) { try found.object("a") }
    }

    @Test func namesMayContainEscapes() throws {
        let found = try object(#"{"\u0061":1,"\"":2,"b\/c":3,"\ud83d\ude48":4,"plain":5}"#)
        #expect(try found.number("a") == 1 && found.number("\"") == 2 && found.number("b/c") == 3)
        #expect(try found.number("🙈") == 4 && found.number("plain") == 5)
        for twice in [#"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"\u0061":2}"#] {
            let failure = #expect(throws: FlatJSONScanner.Failure.self) { try object(twice) }
            #expect(failure?.sentence == "“a” appears twice.")
        }
    }

    @Test(arguments: [
        ("{}", "“o.n” is missing."), (#"{"n":null}"#, "“o.n” is null and must not be."),
        (#"{"n":"1"}"#, "“o.n” is of the wrong type."),
        (#"{"n":1.0}"#, "“o.n” must be a whole number of at most 64 bits, without a fraction or an exponent."),
        (
            #"{"n":-9223372036854775809}"#,
            "“o.n” must be a whole number of at most 64 bits, without a fraction or an exponent."
        ),
        (#"{"n":1,"n":2}"#, "“o.n” appears twice."),
    ]) func aFailureNamesTheMember(_ inner: String, _ sentence: String) throws {
        let failure = #expect(throws: FlatJSONScanner.Failure.self) {
            try object("{\"o\":\(inner)}").object("o")?.wholeNumber(required: "n")
        }
        #expect(failure?.sentence == sentence)
    }

    @Test func wholeNumbersHave64Bits() throws {
        for number in [Int64.min, -1, 0, 999_999_999_999_999_999, 1_000_000_000_000_000_000, .max] {
            #expect(try object("{\"n\":\(number)}").wholeNumber(required: "n") == number)
        }
    }

    @Test func invalidJSONIsNamedByItsPlace() {
        let failure = #expect(throws: FlatJSONScanner.Failure.self) { try object("{\"a\":1,}") }
        #expect(failure?.member == nil)
        #expect(failure?.sentence == "The JSON is invalid at byte 7: expected a string.")
    }

    @Test(arguments: [
        "", "[]", "1", "{", "{\"a\":1", "{\"a\":1}}", "{\"a\":1,}", "{\"a\" 1}", "{\"a\":01}", "{\"a\":tru}", "{'a':1}",
        "{\"a\":1,\"a\":2}", "{\"a\":\"\u{1}\"}", "{\"a\":[}", "{\"a\":\"\\ud800\"}", "nul",
    ]) func whatIsNoObjectIsRefused(_ text: String) {
        #expect(throws: FlatJSONScanner.Failure.self) { try object(text) }
    }

    @Test func hugeNumbersAndManyMembersAreRefused() throws {
        #expect(throws: FlatJSONScanner.Failure.self) { try object("{\"a\":1e999}").number("a") }
        #expect(throws: FlatJSONScanner.Failure.self) { try object("{\"a\":9223372036854775808}").wholeNumber("a") }
        func members(_ count: Int) -> String { "{" + (0..<count).map { "\"m\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(try object(members(FlatJSONObject.maximumMembers)).number("m7") == 0)
        #expect(throws: FlatJSONScanner.Failure.self) { try object(members(FlatJSONObject.maximumMembers + 1)) }
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(throws: FlatJSONScanner.Failure.self) { try object("{\"a\":\(deep)}") }
    }

    /// Whatever comes, it is read or refused, and read as Foundation reads it.
    @Test func itAgreesWithFoundation() throws {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]:,"\u0e+-.19atrufalsn "#.utf8)
        for _ in 0..<20_000 {
            var bytes = Array(#"{"a":1,"b":"x"}"#.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = alphabet.randomElement(using: &random) ?? 0
            }
            guard let found = try? FlatJSONObject(bytes) else { continue }
            let theirs = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
            #expect(theirs != nil, "\(String(decoding: bytes, as: UTF8.self))")
            if let text = try? found.string("b") { #expect(theirs?["b"] as? String == text) }
        }
    }
}
