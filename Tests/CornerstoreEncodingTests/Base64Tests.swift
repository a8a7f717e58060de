import Foundation
import TestSupport
import Testing

@testable import CornerstoreEncoding

@Suite(.timeLimit(.minutes(1))) struct Base64Tests {
    @Test func everyLengthIsWrittenAsFoundationDoesAndReadBack() {
        var random = SeededGenerator(seed: 4)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encoded(bytes) == text)
            #expect(Base64.decoded(text) == bytes)
            let wrapped = Data(bytes).base64EncodedString(options: [
                .lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
            ])
            #expect(Base64.decoded(wrapped) == bytes)
            // Padding may be left out, but not in part.
            let padding = text.suffix { $0 == "=" }
            #expect(Base64.decoded(String(text.dropLast(padding.count))) == bytes)
            let unpadded = wrapped.filter { $0 != "=" }
            #expect(Base64.decoded(unpadded + "\r\n") == bytes)
            if padding.count == 2 { #expect(Base64.decoded(String(text.dropLast())) == nil) }
        }
    }

    @Test func everyByteAtEveryPositionIsJudgedAsFoundationDoes() {
        // Groups are read two at a time, and the last alone.
        for place in 0..<12 {
            for byte in UInt8.min...UInt8.max where byte != 0x0A && byte != 0x0D {
                var text = Array("TWFuTWFuTWFu".utf8)
                text[place] = byte
                let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
                // A padding mark in the last place would leave bits of "F" over, so it is wrong everywhere.
                let expected = letters.contains(byte) ? Data(base64Encoded: Data(text)).map { Array($0) } : nil
                #expect(Base64.decoded(text.span) == expected, "\(place) \(byte)")
            }
        }
    }

    @Test(arguments: [
        "A", "AB", "AAB", "AAAAA", "AA=", "A===", "====", "=", "AAAA=", "AAA=AAAA", "AA==AAAA", "AB==", "AAB=", "AA A",
        "AA-_", "-_",
        "AAA%3D", " AAAA", "AAAA ",
        "AAA=\n=", "é",
    ])
    func everythingElseIsRefused(text: String) {
        #expect(Base64.decoded(text) == nil)
    }
}
