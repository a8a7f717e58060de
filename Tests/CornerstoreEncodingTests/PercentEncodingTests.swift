import CornerstoreEncoding
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct PercentEncodingTests {
    /// Every set, with its characters as RFC 3986 lists them, and the texts of all others.
    @Test(
        arguments: [
            (ASCIICharacters.unreserved, "-._~"), (.pathSegment, "-._~!$&'()*+,;=:@"),
            (.unreserved.adding("/"), "-._~/"), (.unreserved.adding("@"), "-._~@"), (.fileName, "-_."),
            (.alphanumeric, ""), (ASCIICharacters("é"), nil),
        ] as [(ASCIICharacters, String?)])
    func onlyTheKeptCharactersStandForThemselves(kept: ASCIICharacters, marks: String?) {
        for byte in UInt8.min...UInt8.max {
            let scalar = Character(UnicodeScalar(byte))
            let isKept = marks.map { (byte < 0x80 && (scalar.isLetter || scalar.isNumber)) || $0.contains(scalar) }
            let expected = isKept == true ? String(scalar) : String(format: "%%%02X", Int(byte))
            #expect([byte].percentEncoded(keeping: kept) == expected)
            #expect([byte].percentEncoded(keeping: kept, .lower) == (isKept == true ? expected : expected.lowercased()))
        }
    }

    @Test(arguments: [
        ("", ""), ("a b", "a%20b"), ("%", "%25"), ("%a", "%25a"), ("\n", "%0A"), ("\u{0}", "%00"), ("a+b", "a%2Bb"),
        ("é", "%C3%A9"), ("日", "%E6%97%A5"), ("😀", "%F0%9F%98%80"), ("e\u{301}", "e%CC%81"), ("~-._", "~-._"),
    ])
    func textsAreEncodedAsUTF8(text: String, encoded: String) {
        #expect(text.percentEncoded == encoded)
    }

    @Test func everyTextIsReadBackByFoundation() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let text = Self.text(&random)
            #expect(text.percentEncoded.removingPercentEncoding == text)
            #expect(text.utf8.percentEncoded(keeping: .pathSegment, .lower).removingPercentEncoding == text)
            #expect(text.utf8.percentEncodedFileName().removingPercentEncoding == text)
        }
    }

    /// Foundation decodes the parameters of our routes. It must refuse what no encoder writes.
    @Test(arguments: [
        "%", "%a", "a%", "%zz", "%0g", "%%", "%C0%AF", "%E0%80%AF", "%ED%A0%80", "%F5%80%80%80", "%80", "%C3",
    ])
    func malformedTextIsNotDecoded(text: String) {
        #expect(text.removingPercentEncoding == nil)
    }

    /// Two texts must never share a file. They did where a byte below 16 was written with one digit.
    @Test func fileNamesDifferAsTheirTextsDo() {
        #expect("\u{C}3\u{8}b".utf8.percentEncodedFileName(.lower) != "Ë".utf8.percentEncodedFileName(.lower))
        #expect("\n".utf8.percentEncodedFileName(.lower) == "%0a")
        var random = SeededGenerator(seed: 5)
        var texts: [String: String] = [:]
        for _ in 0..<5_000 {
            let text = Self.text(&random)
            let name = text.utf8.percentEncodedFileName(.lower)
            #expect(texts[name].map { $0.utf8.elementsEqual(text.utf8) } ?? true)
            texts[name] = text
            #expect(!name.contains("/") && !name.contains("\u{0}") && !name.hasPrefix("."))
        }
    }

    @Test(arguments: [
        (".", "%2E"), ("..", "%2E."), (".a.b", "%2Ea.b"), ("a..", "a.."), ("", ""), ("a/../b", "a%2F..%2Fb"),
    ])
    func onlyADotAtTheStartIsEncoded(text: String, name: String) {
        #expect(text.utf8.percentEncodedFileName() == name)
        #expect(
            text.utf8.percentEncodedFileName(.lower) == name.replacing("%2E", with: "%2e").replacing("%2F", with: "%2f")
        )
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        let characters = Array("abAB09-._~ %/\\+&=?#\n\u{0}\u{8}\u{C}3béË日😀")
        return String(
            (0..<Int.random(in: 0...6, using: &random)).map { _ in characters.randomElement(using: &random) ?? "a" })
    }
}
