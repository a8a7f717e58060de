import CornerstoreEncoding
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct DateMembersTests {
    /// Days and the clock of Los Angeles are kept from one date to the next, which must not show.
    @Test func datesAreWrittenAsTheyAreAloneWhateverStoodBefore() throws {
        var random = SeededGenerator(seed: 31)
        let changes: [Int64] = [1_710_064_800, 1_730_624_400, 1_704_096_000, 946_713_600, -94_665_600]
        for _ in 0..<200 {
            var json = JSONBytes(capacity: 0)
            var members = DateMembers()
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
                members.write("date", date, to: &json)
                expected += number == 0 ? "" : ","
                expected +=
                    "\"date\":\"\(date.gmt)\",\"date_ms\":\"\(date.milliseconds)\",\"date_pst\":\"\(date.pacific)\""
            }
            json.endObject()
            #expect(String(decoding: json.bytes, as: UTF8.self) == expected + "}")
        }
    }
}
