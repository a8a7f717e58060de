import Foundation
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct JSONBytesTests {
    /// What is written once is copied when it comes again, and days and the clock of Los Angeles are kept: none of it
    /// may show, wherever the buffer grew in between.
    @Test func datesAreWrittenAsTheyAreAloneWhateverStoodBefore() throws {
        var random = SeededGenerator(seed: 31)
        let changes: [Int64] = [1_710_064_800, 1_730_624_400, 1_704_096_000, 946_713_600, -94_665_600]
        for _ in 0..<200 {
            var json = JSONBytes(capacity: 0)
            var expected = "{"
            var dates: [ReceiptDate] = []
            json.beginObject()
            for number in 0..<Int.random(in: 1...12, using: &random) {
                let near = (changes.randomElement(using: &random) ?? 0) + .random(in: -90_000...90_000, using: &random)
                let fresh = ReceiptDate(
                    milliseconds: Bool.random(using: &random)
                        ? near * 1_000 + .random(in: 0...999, using: &random)
                        : .random(in: ReceiptDate.earliest...ReceiptDate.latest, using: &random))
                let date = Bool.random(using: &random) ? dates.randomElement(using: &random) ?? fresh : fresh
                dates.append(date)
                json.member("date", date: date)
                expected += number == 0 ? "" : ","
                expected +=
                    "\"date\":\"\(date.gmt)\",\"date_ms\":\"\(date.milliseconds)\",\"date_pst\":\"\(date.pacific)\""
            }
            json.endObject()
            #expect(String(decoding: json.bytes, as: UTF8.self) == expected + "}")
        }
    }

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
        json.beginObject("object")
        json.endObject()
        json.member("flag", true)
        json.endObject()
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == "{\"plain\":\(number),\"quoted\":\"\(number)\",\"none\":[],\"object\":{},\"flag\":true}")
    }
}
