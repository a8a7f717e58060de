import CornerstoreEncoding
import StoreWire

extension SubscriptionPeriod {
    /// The instant one period after `start`, in milliseconds since 1970, by the proleptic Gregorian calendar and the
    /// clocks of Los Angeles, as at Apple: a month that begins at 22:29 there ends at 22:29, also when daylight saving
    /// time ended in between (measured in production).
    ///
    /// If the month has no such day, its last day counts: one month after 31 January is 28 or 29 February. The result
    /// is at most the last second of the year 9999, because receipts cannot express later dates.
    func end(from start: Int64) -> Int64 {
        let second = start.flooredQuotient(1000)
        let local = second + PacificTime.offset(secondsSince1970: second)
        let end = PacificTime.secondsSince1970(atLocalTime: calendarEnd(from: local)) * 1000 + (start - second * 1000)
        return min(end, 253_402_300_799_000)
    }

    /// The local time one period after another, both in seconds.
    private func calendarEnd(from start: Int64) -> Int64 {
        let day: Int64 = 86_400
        let days = start.flooredQuotient(day)
        let time = start - days * day
        switch unit {
        case .day: return start + Int64(count) * day
        case .week: return start + Int64(count) * 7 * day
        case .month: return Self.adding(months: count, toDay: days) * day + time
        case .year: return Self.adding(months: count * 12, toDay: days) * day + time
        }
    }

    private static func adding(months: Int, toDay days: Int64) -> Int64 {
        let from = CivilTime(secondsSince1970: days * 86_400)
        let months = from.year * 12 + (from.month - 1) + months
        let year = months.flooredQuotient(12)
        let month = months - year * 12 + 1
        let day = min(from.day, CivilTime.days(in: month, of: year))
        return Int64(CivilTime.daysSince1970(year: year, month: month, day: day))
    }
}
