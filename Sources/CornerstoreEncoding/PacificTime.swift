/// The time zone of Los Angeles, in which Apple reckons periods of subscriptions. The `_pst` fields of `verifyReceipt`
/// also use it; despite their name, they follow daylight saving time.
///
/// The rules are those of the United States since the Uniform Time Act (IANA time zone data, `northamerica`, rule
/// `US`): clocks change at 2:00 local time. Before 1967 the zone has standard time only; future years follow the rule
/// of 2007.
package enum PacificTime {
    /// The seconds to add to UTC: -28 800 or -25 200.
    package static func offset(secondsSince1970 seconds: Int64) -> Int64 {
        period(secondsSince1970: seconds).offset
    }

    /// A span of at most a year, in seconds since 1970 (UTC), during which clocks do not change, and the seconds to
    /// add.
    package struct Period {
        package var seconds: Range<Int64>
        package var offset: Int64

        package init(seconds: Range<Int64>, offset: Int64) {
            self.seconds = seconds
            self.offset = offset
        }
    }

    /// The period that contains the time.
    package static func period(secondsSince1970 seconds: Int64) -> Period {
        let standard: Int64 = -28_800
        let year = CivilTime(secondsSince1970: seconds + standard).year
        let first = Int64(CivilTime.daysSince1970(year: year, month: 1, day: 1)) * 86_400 - standard
        let next = Int64(CivilTime.daysSince1970(year: year + 1, month: 1, day: 1)) * 86_400 - standard
        guard let (start, end) = daylightSaving(of: year) else {
            return Period(seconds: first..<next, offset: standard)
        }
        if seconds < start { return Period(seconds: first..<start, offset: standard) }
        if seconds >= end { return Period(seconds: end..<next, offset: standard) }
        return Period(seconds: start..<end, offset: -25_200)
    }

    /// The seconds since 1970 (UTC) at which clocks show a local time, given as the seconds since 1970 of a zone
    /// without an offset. Of an hour that comes twice, the first one counts; a time that is skipped is an hour later.
    package static func secondsSince1970(atLocalTime local: Int64) -> Int64 {
        let (standard, daylight): (Int64, Int64) = (-28_800, -25_200)
        if offset(secondsSince1970: local - daylight) == daylight { return local - daylight }
        return local - standard
    }

    /// When daylight saving time starts and ends in that year, in seconds since 1970 (UTC).
    private static func daylightSaving(of year: Int) -> (start: Int64, end: Int64)? {
        guard year >= 1967 else { return nil }
        let start: Int =
            switch year {
            case 1974: CivilTime.daysSince1970(year: year, month: 1, day: 6)
            case 1975: CivilTime.daysSince1970(year: year, month: 2, day: 23)
            case ..<1987: sunday(onOrAfter: 24, month: 4, year: year)
            case ..<2007: sunday(onOrAfter: 1, month: 4, year: year)
            default: sunday(onOrAfter: 8, month: 3, year: year)
            }
        let end =
            year < 2007 ? sunday(onOrAfter: 25, month: 10, year: year) : sunday(onOrAfter: 1, month: 11, year: year)
        return (Int64(start) * 86_400 + 10 * 3_600, Int64(end) * 86_400 + 9 * 3_600)
    }

    private static func sunday(onOrAfter day: Int, month: Int, year: Int) -> Int {
        let days = CivilTime.daysSince1970(year: year, month: month, day: day)
        return days + (7 - CivilTime.weekday(daysSince1970: days)) % 7
    }
}
