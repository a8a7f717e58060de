import Foundation
import StoreWire
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(1))) struct CalendarPeriodTests {
    @Test(
        arguments: [
            ("P1M", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"),
            ("P1M", "2024-01-31T10:00:00Z", "2024-02-29T10:00:00Z"),
            ("P1M", "2024-01-30T20:00:00Z", "2024-02-29T20:00:00Z"),
            ("P1M", "2026-12-31T23:59:59Z", "2027-01-31T23:59:59Z"),
            ("P2M", "2026-12-31T23:59:59Z", "2027-02-28T23:59:59Z"),
            ("P3M", "2026-11-30T20:00:00Z", "2027-02-28T20:00:00Z"),
            ("P6M", "2026-08-31T20:02:03Z", "2027-02-28T21:02:03Z"),
            ("P1M", "2026-02-28T10:00:00Z", "2026-03-28T09:00:00Z"),
            ("P1M", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z"),
            ("P12M", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
            ("P1Y", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
            ("P4Y", "2024-02-29T10:00:00Z", "2028-02-29T10:00:00Z"),
            ("P4Y", "2096-02-29T10:00:00Z", "2100-02-28T10:00:00Z"),
            ("P1Y", "2099-03-01T00:00:00Z", "2100-03-01T00:00:00Z"),
            ("P1D", "2026-02-28T10:00:00Z", "2026-03-01T10:00:00Z"),
            ("P1D", "2024-02-28T10:00:00Z", "2024-02-29T10:00:00Z"),
            ("P3D", "2026-12-30T10:00:00Z", "2027-01-02T10:00:00Z"),
            ("P2W", "2026-02-20T10:00:00Z", "2026-03-06T10:00:00Z"),
            ("P1M", "2001-01-31T20:00:00Z", "2001-02-28T20:00:00Z"),
            ("P999Y", "2050-05-05T00:00:00Z", "3049-05-05T00:00:00Z"),
        ])
    func aPeriodEndsWhereTheCalendarSays(_ period: String, _ start: String, _ end: String) throws {
        let format = ISO8601DateFormatter()
        let from = try #require(format.date(from: start))
        let to = try #require(format.date(from: end))
        let length = try #require(SubscriptionPeriod(iso8601: period))
        // The milliseconds go along.
        #expect(
            length.end(from: Int64(from.timeIntervalSince1970) * 1000 + 123) == Int64(to.timeIntervalSince1970) * 1000
                + 123)
    }

    /// Periods that Apple's production sold (forum threads and published receipts), each over a change of clocks.
    @Test(
        arguments: [
            ("P1M", "2019-10-23T05:29:52Z", "2019-11-23T06:29:52Z"),
            ("P1M", "2019-10-20T17:56:56Z", "2019-11-20T18:56:56Z"),
            ("P3M", "2019-09-18T09:30:22Z", "2019-12-18T10:30:22Z"),
            ("P1M", "2016-10-30T04:46:42Z", "2016-11-30T05:46:42Z"),
            ("P6D", "2022-11-01T09:15:38Z", "2022-11-07T10:15:38Z"),
        ])
    func aPeriodFollowsTheClocksOfLosAngeles(_ period: String, _ start: String, _ end: String) throws {
        try aPeriodEndsWhereTheCalendarSays(period, start, end)
    }

    @Test func anHourThatComesTwiceOrNotAtAllHasOneEnd() throws {
        for (start, end) in [
            // 2:30 is skipped on 8 March 2026, and 1:30 comes twice on 1 November.
            ("2026-02-08T10:30:00Z", "2026-03-08T10:30:00Z"), ("2026-10-01T08:30:00Z", "2026-11-01T08:30:00Z"),
        ] {
            try aPeriodEndsWhereTheCalendarSays("P1M", start, end)
        }
    }

    @Test func itAgreesWithFoundationsCalendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        for step in 0..<4000 {
            // 2001 to 2100 in steps that meet every day of the year and time of the day.
            let start: Int64 = 978_307_200_000 + Int64(step) * 780_123_456
            let date = Date(timeIntervalSince1970: Double(start) / 1000)
            for (unit, component) in [
                (SubscriptionPeriod.Unit.month, Calendar.Component.month), (.year, .year), (.week, .weekOfYear),
            ] {
                let count = 1 + step % 14
                let end = try #require(calendar.date(byAdding: component, value: count, to: date))
                let found = SubscriptionPeriod(unit: unit, count: count).end(from: start)
                #expect(found == Int64((end.timeIntervalSince1970 * 1000).rounded()), "\(date) + \(count) \(unit)")
            }
        }
    }

    @Test func nothingEndsAfterTheYear9999() {
        let period = SubscriptionPeriod(unit: .year, count: 999_000)
        #expect(period.end(from: 4_102_444_800_000) == 253_402_300_799_000)
    }
}
