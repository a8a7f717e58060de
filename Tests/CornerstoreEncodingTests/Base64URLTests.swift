import CornerstoreEncoding
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct Base64URLTests {
    @Test func readingIsStrict() {
        #expect(Base64URL.encoded([0xfb, 0xff, 0xfe]) == "-__-")
        #expect(Base64URL.encoded([1]) == "AQ")
        #expect(Base64URL.decoded(Array("-__-".utf8)[...]) == [0xfb, 0xff, 0xfe])
        for text in ["AQ==", "A", "+//+", "A Q", "AR", "AQAB\n", "AAB", "AAAA=", "AAAAA"] {
            #expect(Base64URL.decoded(Array(text.utf8)[...]) == nil, "\(text)")
        }
        for count in 0...100 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 151 + count) }
            // Whatever stands before and behind it.
            let text = Array((".." + Base64URL.encoded(bytes) + "..").utf8)
            #expect(Base64URL.decoded(text.dropFirst(2).dropLast(2)) == bytes)
            for place in 2..<text.count - 2 {
                var bad = text
                bad[place] = UInt8(ascii: "+")
                #expect(Base64URL.decoded(bad.dropFirst(2).dropLast(2)) == nil)
            }
        }
    }

    @Test func everyLengthIsWrittenAsFoundationsBase64() {
        var random = SeededGenerator(seed: 9)
        for count in 0..<100 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let standard = Data(bytes).base64EncodedString()
            let text = standard.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64URL.encoded(bytes) == text)
            #expect(Base64URL.decoded(Array(text.utf8)[...]) == bytes)
            // Only one text stands for the bytes: neither padding nor bits left over.
            if text != standard { #expect(Base64URL.decoded(Array((text + "=").utf8)[...]) == nil) }
        }
    }
}
