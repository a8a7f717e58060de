/// Writes JSON directly into memory, in the order of the calls. Names are ASCII literals without escapes. The output
/// has no spaces or line breaks, and does not escape slashes.
///
/// Each member first reserves the most room that it can take, and then writes without further checks.
package struct JSONBytes: ~Copyable {
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private var count = 0
    /// Whether a value precedes the next one in its object or array.
    private var needsComma = false
    private var dates = WrittenDates()

    package init(capacity: Int) {
        self.capacity = max(capacity, 64)
        memory = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// The bytes that were written.
    package var bytes: [UInt8] {
        let (memory, count) = (memory, count)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(from: UnsafeRawBufferPointer(start: memory, count: count))
            initializedCount = count
        }
    }

    package mutating func beginObject() {
        makeRoom(2)
        separate()
        put(UInt8(ascii: "{"))
        needsComma = false
    }

    package mutating func beginObject(_ name: StaticString) {
        self.name(name, room: 1)
        put(UInt8(ascii: "{"))
        needsComma = false
    }

    package mutating func endObject() {
        makeRoom(1)
        put(UInt8(ascii: "}"))
        needsComma = true
    }

    package mutating func beginArray(_ name: StaticString) {
        self.name(name, room: 1)
        put(UInt8(ascii: "["))
        needsComma = false
    }

    package mutating func endArray() {
        makeRoom(1)
        put(UInt8(ascii: "]"))
        needsComma = true
    }

    /// A string.
    @inline(__always)
    package mutating func member(_ name: StaticString, _ value: String) {
        self.name(name, room: 0)
        quoted(value)
    }

    /// A string under a name that is not a literal.
    mutating func member(named name: String, _ value: String) {
        makeRoom(1)
        separate()
        quoted(name)
        makeRoom(1)
        put(UInt8(ascii: ":"))
        quoted(value)
        needsComma = true
    }

    /// A number.
    @inline(__always)
    package mutating func member(_ name: StaticString, number: Int64) {
        self.name(name, room: Self.longestNumber)
        decimal(number)
    }

    /// A number in quotation marks, as most of Apple's are.
    @inline(__always)
    mutating func member(_ name: StaticString, quotedNumber: Int64) {
        self.name(name, room: Self.longestNumber + 2)
        put(UInt8(ascii: "\""))
        decimal(quotedNumber)
        put(UInt8(ascii: "\""))
    }

    /// A boolean: `true` or `false`.
    @inline(__always)
    package mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name, room: 5)
        if value { put("true") } else { put("false") }
    }

    /// A boolean in quotation marks: `"true"` or `"false"`.
    @inline(__always)
    mutating func member(_ name: StaticString, quotedFlag: Bool) {
        self.name(name, room: 7)
        if quotedFlag { put("\"true\"") } else { put("\"false\"") }
    }

    /// A boolean as a digit in quotation marks: `"1"` or `"0"`.
    @inline(__always)
    mutating func member(_ name: StaticString, quotedDigit: Bool) {
        self.name(name, room: 3)
        if quotedDigit { put("\"1\"") } else { put("\"0\"") }
    }

    /// Bytes in Base64.
    mutating func member(_ name: StaticString, base64: [UInt8]) {
        let encodedCount = Base64.encodedCount(base64.count)
        self.name(name, room: encodedCount + 2)
        put(UInt8(ascii: "\""))
        Base64.encode(base64.span, to: memory + count)
        count += encodedCount
        put(UInt8(ascii: "\""))
    }

    /// A date in its three forms: `name`, `name_ms` and `name_pst`.
    @inline(__always)
    mutating func member(_ name: StaticString, date: ReceiptDate) {
        self.name(name, room: 2 * (name.utf8CodeUnitCount + 12) + 3 * 40)
        put(UInt8(ascii: "\""))
        // A purchase contains the same date twice, and many purchases are made on one day.
        let written = dates.last(date)
        if let written { copy(from: written.gmt, 27) } else { newGMT(date) }
        put("\",\"")
        put(name)
        put("_ms\":\"")
        if let written { copy(from: written.milliseconds, written.millisecondsCount) } else { newMilliseconds(date) }
        put("\",\"")
        put(name)
        put("_pst\":\"")
        if let written { copy(from: written.pacific, 39) } else { newPacific(date) }
        put(UInt8(ascii: "\""))
    }

    // MARK: Dates

    /// The offsets of the last date's texts.
    fileprivate struct WrittenDates {
        /// The last date; initially a value that no date has.
        var date = Int64.min
        var gmt = 0
        var milliseconds = 0
        var millisecondsCount = 0
        var pacific = 0
        /// The last day, in days since 1970, and the offset of its text.
        var day = Int64.min
        var dayText = 0
        /// The period of Los Angeles time that contains the last date.
        var period = PacificTime.Period(seconds: 0..<0, offset: 0)

        @inline(__always)
        func last(_ date: ReceiptDate) -> WrittenDates? { date.milliseconds == self.date ? self : nil }
    }

    @inline(never)
    private mutating func newGMT(_ date: ReceiptDate) {
        dates.gmt = count
        civil(date.seconds)
        put(" Etc/GMT")
    }

    @inline(never)
    private mutating func newMilliseconds(_ date: ReceiptDate) {
        dates.milliseconds = count
        decimal(date.milliseconds)
        dates.millisecondsCount = count - dates.milliseconds
    }

    @inline(never)
    private mutating func newPacific(_ date: ReceiptDate) {
        let seconds = date.seconds
        if !dates.period.seconds.contains(seconds) { dates.period = PacificTime.period(secondsSince1970: seconds) }
        dates.pacific = count
        civil(seconds + dates.period.offset)
        put(" America/Los_Angeles")
        dates.date = date.milliseconds
    }

    /// Writes the form `2018-07-15 08:25:37` of a time that was shifted into its zone.
    private mutating func civil(_ seconds: Int64) {
        let day = seconds.flooredQuotient(86_400)
        let start = count
        if day == dates.day {
            copy(from: dates.dayText, 10)
        } else {
            CivilTime(secondsSince1970: seconds).writeDay(to: memory + count)
            count += 10
            dates.day = day
            dates.dayText = start
        }
        put(UInt8(ascii: " "))
        CivilTime.writeTime(ofDay: Int(seconds - day * 86_400), to: memory + count)
        count += 8
    }

    // MARK: Pieces

    /// The most characters of an Int64 in decimal.
    private static let longestNumber = 20

    @inline(__always)
    private mutating func makeRoom(_ needed: Int) {
        if capacity - count < needed { grow(needed) }
    }

    @inline(never)
    private mutating func grow(_ needed: Int) {
        let larger = max(capacity * 2, count + needed)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        memory = moved
        capacity = larger
    }

    /// Writes a name after the preceding value, and reserves room for the name and its value.
    @inline(__always)
    private mutating func name(_ name: StaticString, room: Int) {
        makeRoom(name.utf8CodeUnitCount + 4 + room)
        separate()
        put(UInt8(ascii: "\""))
        put(name)
        put("\":")
        needsComma = true
    }

    @inline(__always)
    private mutating func separate() {
        memory.storeBytes(of: UInt8(ascii: ","), toByteOffset: count, as: UInt8.self)
        count += needsComma ? 1 : 0
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    private mutating func put(_ literal: StaticString) {
        (memory + count).copyMemory(from: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
        count += literal.utf8CodeUnitCount
    }

    /// Copies bytes that were written at an offset.
    @inline(__always)
    private mutating func copy(from offset: Int, _ byteCount: Int) {
        (memory + count).copyMemory(from: memory + offset, byteCount: byteCount)
        count += byteCount
    }

    @inline(__always)
    private mutating func decimal(_ number: Int64) {
        if number >= 0, number <= 9 {
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
        } else {
            decimalOfAnyLength(number)
        }
    }

    @inline(never)
    private mutating func decimalOfAnyLength(_ number: Int64) {
        if number < 0 { put(UInt8(ascii: "-")) }
        var length = 1
        var limit: UInt64 = 10
        while length < 20, number.magnitude >= limit {
            length += 1
            // 10^20 does not fit 64 bits, and is not needed.
            limit = length < 20 ? limit &* 10 : limit
        }
        var rest = number.magnitude
        for place in stride(from: length - 1, through: 0, by: -1) {
            let digit = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            memory.storeBytes(of: digit, toByteOffset: count + place, as: UInt8.self)
            rest /= 10
        }
        count += length
    }

    /// The string in quotation marks.
    @inline(never)
    private mutating func quoted(_ text: String) {
        // Only a bridged string has no contiguous storage.
        if text.utf8.withContiguousStorageIfAvailable({ quoted($0) }) == nil {
            var text = text
            text.withUTF8 { quoted($0) }
        }
    }

    @inline(__always)
    private mutating func quoted(_ utf8: UnsafeBufferPointer<UInt8>) {
        makeRoom(utf8.count + 2)
        put(UInt8(ascii: "\""))
        if let base = utf8.baseAddress {
            (memory + count).copyMemory(from: base, byteCount: utf8.count)
            if Self.needsEscapes(memory + count, utf8.count) {
                makeRoom(6 * utf8.count + 1)
                for byte in utf8 { escaped(byte) }
            } else {
                count += utf8.count
            }
        }
        put(UInt8(ascii: "\""))
    }

    /// Whether the text contains a quotation mark, a backslash or a control character.
    private static func needsEscapes(_ text: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        var found: UInt64 = 0
        var index = 0
        while index + 8 <= count {
            let word = text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let marks = word ^ (ones &* 0x22)
            let slashes = word ^ (ones &* 0x5C)
            // Sets the high bit of each byte that is below 0x20 or zero. A carry can only add to bits that were already
            // found.
            found |= (word &- ones &* 0x20) & ~word | (marks &- ones) & ~marks | (slashes &- ones) & ~slashes
            index += 8
        }
        if found & highs != 0 { return true }
        while index < count {
            let byte = text.load(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { return true }
            index += 1
        }
        return false
    }

    /// Writes a byte in the form of a JSON string (RFC 8259, section 7).
    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): put("\\\"")
        case UInt8(ascii: "\\"): put("\\\\")
        case 0x0A: put("\\n")
        case 0x0D: put("\\r")
        case 0x09: put("\\t")
        case 0..<0x20:
            put("\\u00")
            put(UInt8(ascii: "0") + byte >> 4)
            let digit = byte & 15
            put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        default: put(byte)
        }
    }
}
