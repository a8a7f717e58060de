import Foundation
import Testing

@testable import CornerstoreEncoding

@Suite(.timeLimit(.minutes(1)))
struct JSONBytesTests {
    @Test func everyCharacterInEveryPlaceReadsBack() throws {
        for scalar in (0...0x100).compactMap(Unicode.Scalar.init) {
            for place in 0..<20 {
                let text =
                    String(repeating: "x", count: place) + String(scalar) + String(repeating: "y", count: 19 - place)
                var json = JSONBytes(capacity: 0)
                json.beginObject()
                json.member("text", text)
                json.member(named: text, "value")
                json.endObject()
                let object = try JSONSerialization.jsonObject(with: Data(json.bytes)) as? [String: String]
                #expect(object == ["text": text, text: "value"], "\(scalar.value) at \(place)")
            }
        }
    }

    @Test(arguments: [Int64.min, -10, -1, 0, 9, 10, 99, 100, 999_999_999_999, 1_000_000_000_000_000_000, Int64.max])
    func numbersAreWrittenWhole(number: Int64) {
        var json = JSONBytes(capacity: 0)
        json.beginObject()
        json.member("plain", number: number)
        json.member("quoted", quotedNumber: number)
        json.beginArray("none")
        json.endArray()
        json.beginArray("all")
        for _ in 0..<2 { json.element(number: number) }
        json.endArray()
        json.beginObject("object")
        json.endObject()
        json.member("flag", true)
        json.endObject()
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == "{\"plain\":\(number),\"quoted\":\"\(number)\",\"none\":[],\"all\":[\(number),\(number)],\"object\":{},\"flag\":true}"
        )
    }

    @Test func textWithoutEscapesAndQuotedValuesAreWrittenUnderTheirNames() {
        var json = JSONBytes(capacity: 0)
        json.beginObject()
        for length in [0, 1, 63, 64, 200] {
            let text = Array(repeating: UInt8(ascii: "x"), count: length)
            json.member("date", suffix: "_ms", ascii: text.span)
        }
        json.member("date", suffix: "_ms", quotedNumber: 12)
        json.member("flag", quotedFlag: false)
        json.member("digit", quotedDigit: true)
        json.member("bytes", base64: [1, 2, 3, 4])
        json.endObject()
        let texts = [0, 1, 63, 64, 200].map { #""date_ms":"\#(String(repeating: "x", count: $0))","# }.joined()
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == "{" + texts + #""date_ms":"12","flag":"false","digit":"1","bytes":"AQIDBA=="}"#)
    }

    @Test func encodersSortTheirKeysAndKeepSlashes() throws {
        let value = ["b": "/", "a": "é"]
        #expect(String(decoding: try JSONEncoder.compact.encode(value), as: UTF8.self) == #"{"a":"é","b":"/"}"#)
        #expect(
            String(decoding: try JSONEncoder.readable.encode(value), as: UTF8.self)
                == "{\n  \"a\" : \"é\",\n  \"b\" : \"/\"\n}")
    }
}
