/// A time split into the fields of the proleptic Gregorian calendar, in the zone to which the seconds were shifted.
///
/// It uses integer arithmetic only: a `verifyReceipt` answer holds dozens of dates, and Foundation's formatters cost
/// more than the rest of the answer.
@usableFromInline
package struct CivilTime: Hashable, Sendable {
    @usableFromInline package var year: Int
    @usableFromInline package var month: Int
    @usableFromInline package var day: Int
    @usableFromInline package var hour: Int
    @usableFromInline package var minute: Int
    @usableFromInline package var second: Int

    /// The fields of the time `seconds` after 1970-01-01T00:00:00.
    @inlinable
    package init(secondsSince1970 seconds: Int64) {
        let days = Int(seconds.flooredQuotient(86_400))
        let rest = Int(seconds - Int64(days) * 86_400)
        // Years start in March here, so that the leap day is the last of its year. There are 719_468 days between
        // 0000-03-01 and 1970-01-01.
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3_600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// The given fields; nil when there is no such day or time. A leap second is not accepted.
    @inlinable
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day) else { return nil }
        guard (0..<24).contains(hour), (0..<60).contains(minute), (0..<60).contains(second) else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The seconds since 1970-01-01T00:00:00 in the zone of these fields.
    @inlinable
    package var secondsSince1970: Int64 {
        Int64(Self.daysSince1970(year: year, month: month, day: day)) * 86_400
            + Int64(hour * 3_600 + minute * 60 + second)
    }

    /// The days from 1970-01-01 to the given day.
    @inlinable
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear.flooredQuotient(400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// 0 for Sunday to 6 for Saturday.
    @inlinable
    package static func weekday(daysSince1970 days: Int) -> Int {
        let rest = (days + 4) % 7
        return rest < 0 ? rest + 7 : rest
    }

    /// The number of days in the month.
    @inlinable
    package static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilTime {
    /// Writes ten bytes, `2018-07-15`, for a year from 0 to 9999.
    @inlinable
    package func writeDay(to text: UnsafeMutableRawPointer) {
        Self.write(year / 100, to: text)
        Self.write(year % 100, to: text + 2)
        text.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 4, as: UInt8.self)
        Self.write(month, to: text + 5)
        text.storeBytes(of: UInt8(ascii: "-"), toByteOffset: 7, as: UInt8.self)
        Self.write(day, to: text + 8)
    }

    /// Writes eight bytes, such as `08:25:37`, for a time in seconds after midnight.
    @inlinable
    package static func writeTime(ofDay seconds: Int, to text: UnsafeMutableRawPointer) {
        let minutes = seconds / 60
        write(minutes / 60, to: text)
        text.storeBytes(of: UInt8(ascii: ":"), toByteOffset: 2, as: UInt8.self)
        write(minutes % 60, to: text + 3)
        text.storeBytes(of: UInt8(ascii: ":"), toByteOffset: 5, as: UInt8.self)
        write(seconds % 60, to: text + 6)
    }

    /// Writes a number below 100 with two digits.
    @inlinable
    static func write(_ number: Int, to text: UnsafeMutableRawPointer) {
        let zero = UInt8(ascii: "0")
        let number = UInt32(truncatingIfNeeded: number)
        text.storeBytes(of: zero &+ UInt8(truncatingIfNeeded: number / 10), as: UInt8.self)
        text.storeBytes(of: zero &+ UInt8(truncatingIfNeeded: number % 10), toByteOffset: 1, as: UInt8.self)
    }
}

extension CivilTime: CustomStringConvertible {
    /// The time as RFC 3339 has it for UTC, `2018-07-15T08:25:37Z`. The year is one from 0 to 9999.
    @usableFromInline package var description: String {
        String(unsafeUninitializedCapacity: 20) { text in
            guard let base = text.baseAddress else { return 0 }
            let raw = UnsafeMutableRawPointer(base)
            writeDay(to: raw)
            text[10] = UInt8(ascii: "T")
            Self.writeTime(ofDay: hour * 3_600 + minute * 60 + second, to: raw + 11)
            text[19] = UInt8(ascii: "Z")
            return 20
        }
    }
}

extension BinaryInteger {
    /// The quotient rounded towards minus infinity, where `/` rounds towards zero.
    @inlinable
    package func flooredQuotient(_ divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
