/// A moment of an item in the Gregorian calendar and UTC. Books can be older than the range that other formatters are
/// fast in, and an answer with 200 items has 400 dates.
public struct ItemDate: Sendable, Hashable, CustomStringConvertible {
    /// The year, the month from 1, and the day from 1.
    public let year, month, day: Int
    /// The hour, minute and second of the day.
    public let hour, minute, second: Int

    /// Converts milliseconds since 1970. Moments outside of the years 1 to 9999 become the nearest inside.
    public init(_ milliseconds: Int64) {
        let seconds = min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999).flooringQuotient(1000)
        let days = seconds.flooringQuotient(86_400)
        let rest = Int(seconds - days * 86_400)
        (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
        // Years that begin in March have their leap day at the end.
        let shifted = days + 719_468
        let era = shifted.flooringQuotient(146_097)
        let dayOfEra = Int(shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0)
    }

    /// The moment as `YYYY-MM-DDThh:mm:ssZ`.
    public var description: String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
        }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(digits(hour, 2)):\(digits(minute, 2)):"
            + "\(digits(second, 2))Z"
    }
}

extension Int64 {
    /// The quotient, rounded down. The divisor is positive.
    fileprivate func flooringQuotient(_ divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}
