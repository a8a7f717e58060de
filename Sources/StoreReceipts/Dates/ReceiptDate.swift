import CornerstoreEncoding
import Foundation

/// A time in receipts and `verifyReceipt` answers: whole milliseconds since 1970-01-01T00:00:00Z, with Apple's text
/// forms.
///
/// The text forms cannot express times before year 1 or after year 9999; such a time becomes the first or last possible
/// one.
public struct ReceiptDate: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, within ``earliest`` and ``latest``.
    public let milliseconds: Int64

    /// The earliest time, 0001-01-02T00:00:00Z. It is a day later than year 1 begins, because Los Angeles is behind
    /// UTC.
    public static let earliest: Int64 = -62_135_510_400_000
    /// The latest time, 9999-12-31T23:59:59.999Z.
    public static let latest: Int64 = 253_402_300_799_999

    /// Creates a date from milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.earliest), Self.latest)
    }

    /// Creates a date, rounded to the nearest millisecond.
    public init(_ date: Date) {
        let interval = date.timeIntervalSince1970
        // Receipts hold whole seconds, which need no rounding.
        if let seconds = Int64(exactly: interval), seconds.magnitude < Self.latest.magnitude / 1_000 {
            self.init(milliseconds: seconds * 1_000)
            return
        }
        let milliseconds = (interval * 1_000).rounded()
        if milliseconds >= Double(Self.latest) {
            self.init(milliseconds: Self.latest)
        } else if milliseconds > Double(Self.earliest) {
            self.init(milliseconds: Int64(milliseconds))
        } else {
            // NaN is handled here too.
            self.init(milliseconds: Self.earliest)
        }
    }

    /// The same time as Foundation's type.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }

    /// The same time without its milliseconds, as ASN.1 receipts hold it.
    public var wholeSeconds: ReceiptDate { ReceiptDate(milliseconds: seconds * 1_000) }

    /// The form of the field without suffix: `2018-07-15 08:25:37 Etc/GMT`.
    public var gmt: String { text { $0.appendGMT(self) } }

    /// The form of the field with `_ms`: `1531643137000`.
    public var millisecondsText: String { String(milliseconds) }

    /// The form of the field with `_pst`: `2018-07-15 01:25:37 America/Los_Angeles`.
    public var pacific: String { text { $0.appendPacific(self) } }

    /// The form of ASN.1 receipts, in UTC and without fraction: `2018-07-15T08:25:37Z`.
    public var rfc3339: String { text { $0.appendRFC3339(self) } }

    /// Whether the first date is earlier.
    public static func < (left: ReceiptDate, right: ReceiptDate) -> Bool { left.milliseconds < right.milliseconds }

    /// The seconds since 1970, rounded down.
    var seconds: Int64 { milliseconds.flooredQuotient(1_000) }

    private func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40)
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends `2018-07-15 08:25:37 Etc/GMT`.
    mutating func appendGMT(_ date: ReceiptDate) {
        append(CivilTime(secondsSince1970: date.seconds), separator: UInt8(ascii: " "))
        append(literal: " Etc/GMT")
    }

    /// Appends `2018-07-15 01:25:37 America/Los_Angeles`.
    mutating func appendPacific(_ date: ReceiptDate) {
        let seconds = date.seconds
        append(
            CivilTime(secondsSince1970: seconds + PacificTime.offset(secondsSince1970: seconds)),
            separator: UInt8(ascii: " "))
        append(literal: " America/Los_Angeles")
    }

    /// Appends `2018-07-15T08:25:37Z`.
    mutating func appendRFC3339(_ date: ReceiptDate) {
        append(CivilTime(secondsSince1970: date.seconds), separator: UInt8(ascii: "T"))
        append(UInt8(ascii: "Z"))
    }

    /// Appends the bytes of a literal.
    @inline(__always)
    mutating func append(literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends 19 bytes, `2018-07-15 08:25:37` with the given byte between day and time.
    private mutating func append(_ time: CivilTime, separator: UInt8) {
        append(addingCapacity: 19) { (output: inout OutputSpan<UInt8>) in
            output.withUnsafeMutableBufferPointer { buffer, count in
                guard let base = buffer.baseAddress else { return }
                let text = UnsafeMutableRawPointer(base + count)
                time.writeDay(to: text)
                text.storeBytes(of: separator, toByteOffset: 10, as: UInt8.self)
                CivilTime.writeTime(ofDay: time.hour * 3_600 + time.minute * 60 + time.second, to: text + 11)
                count += 19
            }
        }
    }
}
