import CornerstoreEncoding
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
        guard month >= 1, month <= 12, day >= 1, day <= CivilTime.days(in: month, of: year), hour <= 23, minute <= 59,
            second60 <= 60
        else { return nil }
        let days1970 = CivilTime.daysSince1970(year: year, month: month, day: day)
        let moment = days1970 * 86_400 + hour * 3_600 + minute * 60 + second60
        return Date(timeIntervalSinceReferenceDate: Double(moment - referenceSeconds))
    }

    private static func parseAnyForm(_ text: UnsafeRawBufferPointer) -> Date? {
        guard text.count >= 20, text.count <= 35,
            text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: " "),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            (1...12).contains(month), day >= 1, day <= CivilTime.days(in: month, of: year), hour <= 23, minute <= 59,
            second <= 60
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
        let days = CivilTime.daysSince1970(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSinceReferenceDate: Double(seconds - referenceSeconds) + fraction)
    }

    /// Writes `2024-02-23T17:27:16Z` without the fraction of a second. Returns nil outside the years 0001 to 9999.
    static func format(_ date: Date) -> [UInt8]? {
        let interval = date.timeIntervalSinceReferenceDate.rounded(.down)
        guard interval.isFinite, abs(interval) < 1e12 else { return nil }
        let seconds = Int(interval) + referenceSeconds
        let time = CivilTime(secondsSince1970: Int64(seconds))
        guard (1...9_999).contains(time.year) else { return nil }
        return Array(time.description.utf8)
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
}
