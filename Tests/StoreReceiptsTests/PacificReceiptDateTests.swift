import CornerstoreEncoding
import Foundation
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1))) struct PacificReceiptDateTests {
    private func losAngeles() throws -> TimeZone { try #require(TimeZone(identifier: "America/Los_Angeles")) }

    private func offset(_ zone: TimeZone, _ seconds: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }

    @Test func everyHourAroundEachTransitionMatchesTheTimeZoneData() throws {
        let zone = try losAngeles()
        var moment = Date(timeIntervalSince1970: Double(CivilTime.daysSince1970(year: 1967, month: 1, day: 1)) * 86_400)
        var transitions = 0
        while let next = zone.nextDaylightSavingTimeTransition(after: moment),
            next < Date(timeIntervalSince1970: 2_145_916_800)
        {
            let seconds = Int64(next.timeIntervalSince1970)
            for hour in Int64(-30)...30 {
                for second in [Int64(-1), 0, 1] {
                    let at = seconds + hour * 3_600 + second
                    #expect(PacificTime.offset(secondsSince1970: at) == offset(zone, at), "\(at)")
                }
            }
            transitions += 1
            moment = next
        }
        #expect(transitions == 142)
    }

    @Test func randomMomentsOf150YearsMatchTheTimeZoneData() throws {
        let zone = try losAngeles()
        var random = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            let at = Int64.random(in: -94_000_000...4_102_444_800, using: &random)
            #expect(PacificTime.offset(secondsSince1970: at) == offset(zone, at), "\(at)")
        }
    }

    @Test(arguments: [
        // From answers of Apple's server.
        (1_531_643_137_000, "2018-07-15 08:25:37 Etc/GMT", "2018-07-15 01:25:37 America/Los_Angeles"),
        (1_388_651_411_975, "2014-01-02 08:30:11 Etc/GMT", "2014-01-02 00:30:11 America/Los_Angeles"),
        (1_375_340_400_000, "2013-08-01 07:00:00 Etc/GMT", "2013-08-01 00:00:00 America/Los_Angeles"),
        (1_595_916_053_000, "2020-07-28 06:00:53 Etc/GMT", "2020-07-27 23:00:53 America/Los_Angeles"),
        // A leap day, the second before 1970, and the ends of what fits.
        (1_709_164_800_000, "2024-02-29 00:00:00 Etc/GMT", "2024-02-28 16:00:00 America/Los_Angeles"),
        (-1, "1969-12-31 23:59:59 Etc/GMT", "1969-12-31 15:59:59 America/Los_Angeles"),
        (Int64.min, "0001-01-02 00:00:00 Etc/GMT", "0001-01-01 16:00:00 America/Los_Angeles"),
        (Int64.max, "9999-12-31 23:59:59 Etc/GMT", "9999-12-31 15:59:59 America/Los_Angeles"),
    ])
    func theReadableFormsAreApples(milliseconds: Int64, gmt: String, pacific: String) {
        let date = ReceiptDate(milliseconds: milliseconds)
        #expect(date.gmt == gmt)
        #expect(date.pacific == pacific)
        #expect(date.rfc3339 == gmt.replacing(" Etc/GMT", with: "Z").replacing(" ", with: "T"))
    }

    @Test func millisecondsAreKeptOnlyInTheMillisecondForm() {
        let date = ReceiptDate(milliseconds: 1_388_651_411_975)
        #expect(date.millisecondsText == "1388651411975")
        #expect(date.wholeSeconds.milliseconds == 1_388_651_411_000)
        #expect(ReceiptDate(milliseconds: -1).wholeSeconds.milliseconds == -1_000)
    }

    @Test func aDateIsReadBackFromEveryForm() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<20_000 {
            let date = ReceiptDate(milliseconds: .random(in: ReceiptDate.earliest...ReceiptDate.latest, using: &random))
            #expect(ReceiptDate(rfc3339: date.rfc3339.utf8) == date.wholeSeconds)
            #expect(ReceiptDate(gmt: date.gmt.utf8) == date.wholeSeconds)
            #expect(ReceiptDate(millisecondsText: date.millisecondsText) == date)
        }
        for _ in 0..<20_000 {
            let date = ReceiptDate(milliseconds: .random(in: 0...4_102_444_800_000, using: &random))
            #expect(ReceiptDate(date.date) == date)
        }
    }

    @Test func theCalendarIsFoundations() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        var random = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            // Foundation's calendar is the Julian one before 1582.
            let seconds = Int64.random(in: -12_000_000_000...253_402_300_799, using: &random)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second, .weekday],
                from: Date(timeIntervalSince1970: Double(seconds))
            )
            let time = CivilTime(secondsSince1970: seconds)
            #expect([time.year, time.month, time.day] == [parts.year, parts.month, parts.day])
            #expect([time.hour, time.minute, time.second] == [parts.hour, parts.minute, parts.second])
            let days = CivilTime.daysSince1970(year: time.year, month: time.month, day: time.day)
            #expect(CivilTime.weekday(daysSince1970: days) + 1 == parts.weekday)
        }
    }

    @Test func datesBeyondFoundationsRangeAreClamped() {
        #expect(ReceiptDate(Date(timeIntervalSince1970: .infinity)).milliseconds == ReceiptDate.latest)
        #expect(ReceiptDate(Date(timeIntervalSince1970: -.infinity)).milliseconds == ReceiptDate.earliest)
        #expect(ReceiptDate(Date(timeIntervalSince1970: .nan)).milliseconds == ReceiptDate.earliest)
        #expect(ReceiptDate(Date(timeIntervalSince1970: Double(Int64.min))).milliseconds == ReceiptDate.earliest)
        #expect(ReceiptDate(.distantFuture).rfc3339 == "4001-01-01T00:00:00Z")
    }

    @Test(arguments: [
        ("2024-02-23T17:27:16Z", 1_708_709_236_000),
        ("2024-02-23T17:27:16.1239Z", 1_708_709_236_123),
        ("2024-02-23T18:27:16+0100", 1_708_709_236_000),
        ("2024-02-23T09:27:16-08:00", 1_708_709_236_000),
    ])
    func datesOfASN1AreRead(text: String, milliseconds: Int64) {
        #expect(ReceiptDate(rfc3339: text.utf8)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2024", "2024-02-23T17:27:16", "2024-02-23 17:27:16Z", "2024-02-30T17:27:16Z", "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:60Z",
        "2024-02-23T17:27:16Z ", "2024-02-23T17:27:16.Z", "0000-01-01T00:00:00Z", "+024-01-01T00:00:00Z",
        "2024-01-01T00:00:00+2400",
        "2024-02-23T17:27:16.00000000000000000000000000000000000000000Z", "2024-01-01T00:00:00z",
    ])
    func otherDatesOfASN1AreRefused(text: String) {
        #expect(ReceiptDate(rfc3339: text.utf8) == nil)
    }

    @Test(arguments: ["", "+1", "1.5", "1e3", "0x1", "99999999999999999", "253402300800000", " 1"])
    func otherMillisecondsAreRefused(text: String) {
        #expect(ReceiptDate(millisecondsText: text) == nil)
    }

    @Test(arguments: [
        "2015-11-18 04:34:41", "2015-11-18 04:34:41 America/Los_Angeles", "2015-11-18 04:34:41 Etc/GMT ", "x",
    ])
    func otherReadableFormsAreRefused(text: String) {
        #expect(ReceiptDate(gmt: text.utf8) == nil)
    }
}
