import StoreWire

extension SubscriptionPeriod {
    /// The instant one period after `start`, in milliseconds since 1970, by the proleptic Gregorian calendar in UTC.
    ///
    /// If the month has no such day, its last day counts: one month after 31 January is 28 or 29 February. The result
    /// is at most the last second of the year 9999, because receipts cannot express later dates.
    func end(from start: Int64) -> Int64 { min(calendarEnd(from: start), 253_402_300_799_000) }

    private func calendarEnd(from start: Int64) -> Int64 {
        let day: Int64 = 86_400_000
        let days = start.floorDivided(by: day)
        let time = start - days * day
        switch unit {
        case .day: return start + Int64(count) * day
        case .week: return start + Int64(count) * 7 * day
        case .month: return Self.adding(months: count, toDay: days) * day + time
        case .year: return Self.adding(months: count * 12, toDay: days) * day + time
        }
    }

    private static func adding(months: Int, toDay days: Int64) -> Int64 {
        var (year, month, day) = civil(days)
        let count = year * 12 + (month - 1) + Int64(months)
        (year, month) = (count.floorDivided(by: 12), count - count.floorDivided(by: 12) * 12 + 1)
        day = min(day, lastDay(year: year, month: month))
        return self.days(year: year, month: month, day: day)
    }

    private static func lastDay(year: Int64, month: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Converts days since 1970 to year, month and day. It counts years from March, so that the leap day comes last.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.floorDivided(by: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

extension Int64 {
    fileprivate func floorDivided(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
