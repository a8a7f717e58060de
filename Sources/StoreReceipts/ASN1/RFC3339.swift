import Foundation

/// Reads and writes the dates inside receipts, RFC 3339 text, with integer arithmetic only. A date formatter costs more
/// than the RSA check.
enum RFC3339 {
    /// Reads `2024-02-23T17:27:16Z`, optionally with a fraction of a second, and with the offsets `+01:00` and `+0100`
    /// that older versions of Xcode wrote. Returns nil for anything else.
    static func parse(_ text: UnsafeRawBufferPointer) -> Date? {
        parseUTC(text) ?? parseAnyForm(text)
    }

    /// Reads the form of Apple's server, `2024-02-23T17:27:16Z`. Returns nil for any other form.
    private static func parseUTC(_ text: UnsafeRawBufferPointer) -> Date? {
        guard text.count == 20, let base = text.baseAddress else { return nil }
        // The text is `dddd-dd-`, `ddTdd:dd` and `:ddZ`. Subtracting the zeros and separators leaves the digits and
        // zeros.
        let (first, second) = (
            UInt64(littleEndian: base.loadUnaligned(as: UInt64.self)),
            UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
        let rest = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        let days = first ^ 0x2D30_302D_3030_3030
        let times = second ^ 0x3030_3A30_3054_3030
        let seconds = rest ^ 0x5A30_303A
        // Adding 118 sets the high bit of every byte that is above nine.
        let tooHigh = (days &+ 0x7676_7676_7676_7676) | (times &+ 0x7676_7676_7676_7676)
        guard (tooHigh | days | times) & 0x8080_8080_8080_8080 == 0,
            (seconds &+ 0x7676_7676 | seconds) & 0x8080_8080 == 0,
            days & 0xFF00_00FF_0000_0000 == 0, times & 0x0000_FF00_00FF_0000 == 0, seconds & 0xFF00_00FF == 0
        else { return nil }
        func pair(_ word: UInt64, _ shift: UInt64) -> Int {
            Int(word >> shift & 15) * 10 + Int(word >> (shift + 8) & 15)
        }
        let year = pair(days, 0) * 100 + pair(days, 16)
        let (month, day) = (pair(days, 40), pair(times, 0))
        let (hour, minute, second60) = (pair(times, 24), pair(times, 48), pair(UInt64(seconds), 8))
        guard month >= 1, month <= 12, day >= 1, day <= daysIn(month, of: year), hour <= 23, minute <= 59,
            second60 <= 60
        else { return nil }
        let moment = self.days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second60
        return Date(timeIntervalSinceReferenceDate: Double(moment - referenceSeconds))
    }

    private static func parseAnyForm(_ text: UnsafeRawBufferPointer) -> Date? {
        guard text.count >= 20, text.count <= 35,
            text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: " "),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            (1...12).contains(month), day >= 1, day <= daysIn(month, of: year), hour <= 23, minute <= 59, second <= 60
        else { return nil }
        var position = 19
        var fraction = 0.0
        if text[position] == UInt8(ascii: ".") {
            position += 1
            var scale = 0.1
            let first = position
            while position < text.count, let digit = number(text, position, 1) {
                fraction += Double(digit) * scale
                scale /= 10
                position += 1
            }
            guard position > first else { return nil }
        }
        guard let offset = offsetSeconds(text, position) else { return nil }
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSinceReferenceDate: Double(seconds - referenceSeconds) + fraction)
    }

    /// Writes `2024-02-23T17:27:16Z` without the fraction of a second. Returns nil outside the years 0001 to 9999.
    static func format(_ date: Date) -> [UInt8]? {
        let interval = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard interval.isFinite, abs(interval) < 1e12 else { return nil }
        let seconds = Int(interval) + referenceSeconds
        let dayNumber = Int((Double(seconds) / 86_400).rounded(.down))
        let (year, month, day) = civil(dayNumber)
        guard (1...9_999).contains(year) else { return nil }
        let inDay = seconds - dayNumber * 86_400
        var text: [UInt8] = []
        text.reserveCapacity(20)
        append(year, 4, to: &text)
        text.append(UInt8(ascii: "-"))
        append(month, 2, to: &text)
        text.append(UInt8(ascii: "-"))
        append(day, 2, to: &text)
        text.append(UInt8(ascii: "T"))
        append(inDay / 3_600, 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append(inDay / 60 % 60, 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append(inDay % 60, 2, to: &text)
        text.append(UInt8(ascii: "Z"))
        return text
    }

    /// 2001-01-01T00:00:00Z, Foundation's reference date, in seconds since 1970.
    private static let referenceSeconds = 978_307_200

    private static func offsetSeconds(_ text: UnsafeRawBufferPointer, _ position: Int) -> Int? {
        guard position < text.count else { return nil }
        let rest = text.count - position
        switch text[position] {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"):
            return rest == 1 ? 0 : nil
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            let hasColon = rest == 6 && text[position + 3] == UInt8(ascii: ":")
            guard rest == 5 || hasColon, let hours = number(text, position + 1, 2),
                let minutes = number(text, position + (hasColon ? 4 : 3), 2), hours <= 23, minutes <= 59
            else { return nil }
            let seconds = hours * 3_600 + minutes * 60
            return text[position] == UInt8(ascii: "-") ? -seconds : seconds
        default:
            return nil
        }
    }

    private static func number(_ text: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Int? {
        guard start + count <= text.count else { return nil }
        var value = 0
        for index in start..<start + count {
            let digit = Int(text[index]) - 48
            guard (0...9).contains(digit) else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private static func append(_ value: Int, _ digits: Int, to text: inout [UInt8]) {
        var divisor = digits == 4 ? 1_000 : 10
        while divisor > 0 {
            text.append(UInt8(48 + value / divisor % 10))
            divisor /= 10
        }
    }

    private static func daysIn(_ month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// The days from 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, so that the leap day
    /// comes last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ dayNumber: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = dayNumber + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}
