import CornerstoreEncoding
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct HexadecimalTests {
    @Test func everyByteHasTwoDigits() {
        for byte in UInt8.min...UInt8.max {
            #expect(Hexadecimal.encoded([byte]) == String(format: "%02x", Int(byte)))
            #expect(Hexadecimal.encoded([byte], .upper) == String(format: "%02X", Int(byte)))
        }
        #expect(Hexadecimal.encoded([]) == "")
    }

    @Test func bytesAreReadBackInEitherCase() {
        var random = SeededGenerator(seed: 7)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Hexadecimal.decoded(Hexadecimal.encoded(bytes)) == bytes)
            #expect(Hexadecimal.decoded(Hexadecimal.encoded(bytes, .upper)) == bytes)
        }
        #expect(Hexadecimal.decoded("aBfF09") == [0xAB, 0xFF, 0x09])
    }

    @Test(arguments: ["0", "abc", "0g", "g0", "0x", " 0", "0 ", "+1", "-1", "00\n", "0:", "/0", "@0", "`0", "é", "１１"])
    func otherTextIsRefused(text: String) {
        #expect(Hexadecimal.decoded(text) == nil)
    }

    @Test func aUnitIsFourDigits() {
        for unit in stride(from: UInt16.min, through: .max - 251, by: 251) {
            let text = Array(("x" + String(format: "%04x", Int(unit)) + "x").utf8)
            #expect(Hexadecimal.unit(text.span, at: 1) == unit)
            #expect(Hexadecimal.unit(text.span, at: 0) == nil && Hexadecimal.unit(text.span, at: 2) == nil)
        }
        let short = Array("123".utf8)
        #expect(Hexadecimal.unit(short.span, at: 0) == nil && Hexadecimal.unit(short.span, at: 3) == nil)
    }
}
