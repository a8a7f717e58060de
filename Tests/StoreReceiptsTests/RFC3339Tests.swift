import Foundation
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1)))
struct RFC3339Tests {
    private func parse(_ text: String) -> Date? {
        Array(text.utf8).withUnsafeBytes { RFC3339.parse($0) }
    }

    @Test(
        arguments: [
            ("2024-02-23T17:27:16Z", 1_708_709_236), ("1970-01-01T00:00:00Z", 0),
            ("2013-08-01T07:00:00Z", 1_375_340_400),
            ("4001-01-01T00:00:00Z", 64_092_211_200), ("2000-02-29T23:59:59Z", 951_868_799),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("2020-08-12T10:00:00+0100", 1_597_222_800), ("2020-08-12T10:00:00-01:30", 1_597_231_800),
            ("2020-08-12T10:00:00.500Z", 1_597_226_400.5), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, Double)])
    func reads(text: String, seconds: Double) {
        #expect(parse(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "2024-02-23", "2024-02-23T17:27:16", "2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
        "2024-00-10T00:00:00Z", "2024-01-00T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+1", "2024-01-01T00:00:00+01:0",
        "-024-01-01T00:00:00Z",
        "2024-01-01T00:00:00ZZ", "２024-01-01T00:00Z", "2024-01-01T00:00:00+25:00", "2024-01-01 00:00:00 Etc/GMT",
    ])
    func refuses(text: String) {
        #expect(parse(text) == nil)
    }

    @Test func agreesWithFoundationAndReadsBackWhatItWrites() throws {
        var generator = SeededGenerator(seed: 12)
        let formatter = ISO8601DateFormatter()
        for _ in 0..<3_000 {
            let date = Date(
                timeIntervalSince1970: Double(Int.random(in: -12_219_292_800..<253_402_300_800, using: &generator)))
            let text = String(decoding: try #require(RFC3339.format(date)), as: UTF8.self)
            #expect(parse(text) == date)
            #expect(text == formatter.string(from: date))
        }
    }

    /// The usual form has a way of its own; with a fraction the same text takes the other one.
    @Test func everyByteAtEveryPositionIsJudgedAsInTheLongForm() {
        for good in ["2024-02-23T17:27:16Z", "1999-12-31T23:59:60Z", "2000-02-29T00:00:00Z"] {
            for place in 0..<19 {
                for byte in UInt8.min...UInt8.max {
                    var text = Array(good.utf8)
                    text[place] = byte
                    let short = text.withUnsafeBytes { RFC3339.parse($0) }
                    let long = (text.dropLast() + Array(".0Z".utf8)).withUnsafeBytes { RFC3339.parse($0) }
                    #expect(short == long, "\(good) \(place) \(byte)")
                }
            }
        }
    }

    // Not as dates: describing one that is no number ends the process.
    @Test(arguments: [-1e12, 253_402_300_800, .nan, .infinity, 1e300] as [Double])
    func writesNoDateThatHasNoFourDigitYear(seconds: Double) {
        #expect(RFC3339.format(Date(timeIntervalSince1970: seconds)) == nil)
    }
}
