import CornerstoreEncoding
import Testing

/// Times in the Gregorian calendar.
@Suite(.timeLimit(.minutes(1))) struct CivilTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_827_696, "2000-02-29T12:34:56Z"), (-1, "1969-12-31T23:59:59Z"),
            (-3_000_000_000, "1874-12-07T18:40:00Z"), (-62_135_596_800, "0001-01-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)])
    func aTimeIsWrittenAndCountedExactly(_ seconds: Int64, _ text: String) {
        let time = CivilTime(secondsSince1970: seconds)
        #expect(time.description == text)
        #expect(time.secondsSince1970 == seconds)
    }

    @Test func everyDayFrom1600To1970FollowsTheOneBefore() {
        var (year, month, day) = (1599, 12, 31)
        for number in CivilTime.daysSince1970(year: 1600, month: 1, day: 1)..<0 {
            day += 1
            if day > CivilTime.days(in: month, of: year) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
            let time = CivilTime(secondsSince1970: Int64(number) * 86_400)
            guard (time.year, time.month, time.day) == (year, month, day) else {
                Issue.record("day \(number) is \(time), not \(year)-\(month)-\(day)")
                return
            }
        }
        #expect((year, month, day) == (1969, 12, 31))
    }

    @Test(arguments: [(2023, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31), (2024, 1, 0)])
    func dayThatDoesNotExistIsRefused(_ year: Int, _ month: Int, _ day: Int) {
        #expect(CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0) == nil)
    }
}
