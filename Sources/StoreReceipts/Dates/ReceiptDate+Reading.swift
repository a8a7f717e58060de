import CornerstoreEncoding

extension ReceiptDate {
    /// Reads the date of an ASN.1 receipt (RFC 3339), such as `2024-02-23T17:27:16Z`. The date may have a fraction, of
    /// which milliseconds are kept, and the offset from UTC that older versions of Xcode write (`+0100` or `+01:00`).
    /// Returns nil for anything else.
    public init?(rfc3339 text: some Sequence<UInt8>) {
        var digits = DateDigits(text)
        guard let time = digits.civilTime(separator: UInt8(ascii: "T")) else { return nil }
        guard let fraction = digits.milliseconds(), let offset = digits.offset(), digits.isAtEnd else { return nil }
        self.init(milliseconds: (time.secondsSince1970 - offset) * 1_000 + fraction)
    }

    /// Reads the readable form in UTC, such as `2015-11-18 04:34:41 Etc/GMT`. Returns nil for anything else, including
    /// the form of Los Angeles, which is ambiguous for an hour each autumn.
    public init?(gmt text: some Sequence<UInt8>) {
        var digits = DateDigits(text)
        guard let time = digits.civilTime(separator: UInt8(ascii: " ")), digits.rest.elementsEqual(" Etc/GMT".utf8)
        else { return nil }
        self.init(milliseconds: time.secondsSince1970 * 1_000)
    }

    /// Reads milliseconds since 1970 in decimal, such as `1447821281000`. Returns nil for anything else and for times
    /// outside ``earliest`` and ``latest``.
    public init?(millisecondsText text: String) {
        guard text.utf8.count <= 16, let milliseconds = Int64(text), !text.hasPrefix("+") else { return nil }
        guard milliseconds >= Self.earliest, milliseconds <= Self.latest else { return nil }
        self.init(milliseconds: milliseconds)
    }
}

/// The bytes of a date that is being read, at most as many as a date has.
private struct DateDigits {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: some Sequence<UInt8>) {
        // One byte more than the longest date, so that a longer text is not accepted.
        bytes = Array(text.prefix(48))
    }

    var isAtEnd: Bool { position == bytes.count }
    var rest: ArraySlice<UInt8> { bytes[position...] }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func digit() -> Int? {
        guard position < bytes.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = bytes[position] else { return nil }
        position += 1
        return Int(bytes[position - 1] - UInt8(ascii: "0"))
    }

    private mutating func number(_ digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    mutating func civilTime(separator: UInt8) -> CivilTime? {
        let dash = UInt8(ascii: "-")
        let colon = UInt8(ascii: ":")
        guard let year = number(4), year > 0, take(dash), let month = number(2), take(dash), let day = number(2) else {
            return nil
        }
        guard take(separator), let hour = number(2), take(colon), let minute = number(2), take(colon) else {
            return nil
        }
        guard let second = number(2) else { return nil }
        return CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }

    /// The fraction of a second in milliseconds, rounded down; 0 without a fraction, nil for a point without digits.
    mutating func milliseconds() -> Int64? {
        guard take(UInt8(ascii: ".")) else { return 0 }
        var milliseconds = 0
        var unit = 100
        guard let first = digit() else { return nil }
        milliseconds += first * unit
        while let digit = digit() {
            unit /= 10
            milliseconds += digit * unit
        }
        return Int64(milliseconds)
    }

    /// The seconds ahead of UTC.
    mutating func offset() -> Int64? {
        if take(UInt8(ascii: "Z")) { return 0 }
        let sign: Int64
        if take(UInt8(ascii: "+")) {
            sign = 1
        } else if take(UInt8(ascii: "-")) {
            sign = -1
        } else {
            return nil
        }
        guard let hours = number(2), hours < 24 else { return nil }
        _ = take(UInt8(ascii: ":"))
        guard let minutes = number(2), minutes < 60 else { return nil }
        return sign * Int64(hours * 3_600 + minutes * 60)
    }
}
