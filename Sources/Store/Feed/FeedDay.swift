import CornerstoreEncoding

/// A day of the partner feed, in UTC. Everything in a feed is dated with its day, never with the time of its build.
public struct FeedDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The days since 1970-01-01.
    public var days: Int

    /// Creates a day.
    public init(days: Int) { self.days = days }

    /// The day of a time in milliseconds since 1970.
    public init(milliseconds: Int64) { days = Int(milliseconds.flooredQuotient(Self.length)) }

    /// Reads `20260107` or `2026-01-07`; nil for other texts and for days that do not exist.
    public init?(_ text: String) {
        let digits = text.filter { $0 != "-" }.utf8
        guard digits.count == 8, digits.allSatisfy({ (0x30...0x39).contains($0) }),
            text.utf8.count == 8 || text.utf8.elementsEqual(Self.dashed(text).utf8),
            let number = Int(String(decoding: Array(digits), as: UTF8.self)),
            CivilTime(
                year: number / 10_000, month: number / 100 % 100, day: number % 100, hour: 0, minute: 0, second: 0)
                != nil
        else { return nil }
        days = CivilTime.daysSince1970(year: number / 10_000, month: number / 100 % 100, day: number % 100)
    }

    private static func dashed(_ text: String) -> String {
        let digits = text.filter { $0 != "-" }
        return "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))"
    }

    static let length: Int64 = 86_400_000

    /// The day's first moment, in milliseconds since 1970: the feed's `export_date`.
    public var milliseconds: Int64 { Int64(days) * Self.length }

    /// The last Wednesday up to this day. Full feeds are made on Wednesdays.
    var lastWednesday: FeedDay { FeedDay(days: days - (CivilTime.weekday(daysSince1970: days) + 4) % 7) }

    /// The day as file names have it, `20260107`.
    public var description: String { Self.text(milliseconds, separator: "") }

    /// A time's day with a separator, such as the feed's dates have it: `2026 01 07`.
    static func text(_ milliseconds: Int64, separator: String) -> String {
        let time = CivilTime(secondsSince1970: milliseconds.flooredQuotient(1000)).description
        return String(time.prefix(10)).replacing("-", with: separator)
    }

    /// Whether a day comes before another.
    public static func < (left: FeedDay, right: FeedDay) -> Bool { left.days < right.days }
}
