/// Writes JSON directly into memory, in the order of the calls. Names are ASCII literals without escapes. The output
/// has no spaces or line breaks, and does not escape slashes.
///
/// Each member first reserves the most room that it can take, and then writes without further checks.
@usableFromInline
package struct JSONBytes: ~Copyable {
    // The type is usable from inlined code as well: the functions of a type that is only `package` are not inlined in
    // other modules, although they are `@inlinable`.
    @usableFromInline var memory: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// The number of bytes that were written.
    @usableFromInline package internal(set) var count = 0
    /// Whether a value precedes the next one in its object or array.
    @usableFromInline var needsComma = false

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

    @inlinable
    package mutating func beginObject() {
        makeRoom(2)
        separate()
        put(UInt8(ascii: "{"))
        needsComma = false
    }

    @inlinable
    package mutating func beginObject(_ name: StaticString) {
        self.name(name, room: 1)
        put(UInt8(ascii: "{"))
        needsComma = false
    }

    @inlinable
    package mutating func endObject() {
        makeRoom(1)
        put(UInt8(ascii: "}"))
        needsComma = true
    }

    @inlinable
    package mutating func beginArray(_ name: StaticString) {
        self.name(name, room: 1)
        put(UInt8(ascii: "["))
        needsComma = false
    }

    @inlinable
    package mutating func endArray() {
        makeRoom(1)
        put(UInt8(ascii: "]"))
        needsComma = true
    }

    /// A string.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ value: String) {
        self.name(name, room: 0)
        quoted(value)
    }

    /// A string under a name that is not a literal.
    package mutating func member(named name: String, _ value: String) {
        makeRoom(1)
        separate()
        quoted(name)
        makeRoom(1)
        put(UInt8(ascii: ":"))
        quoted(value)
        needsComma = true
    }

    /// A string of ASCII characters that need no escapes.
    /// - Parameter suffix: is added to the name.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, suffix: StaticString = "", ascii value: Span<UInt8>) {
        self.name(name, suffix: suffix, room: value.count + 2)
        put(UInt8(ascii: "\""))
        put(value)
        put(UInt8(ascii: "\""))
    }

    /// A number.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, number: Int64) {
        self.name(name, room: Self.longestNumber)
        decimal(number)
    }

    /// A number in quotation marks, as most of Apple's are.
    /// - Parameter suffix: is added to the name.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, suffix: StaticString = "", quotedNumber: Int64) {
        self.name(name, suffix: suffix, room: Self.longestNumber + 2)
        put(UInt8(ascii: "\""))
        decimal(quotedNumber)
        put(UInt8(ascii: "\""))
    }

    /// A boolean: `true` or `false`.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name, room: 5)
        if value { put("true") } else { put("false") }
    }

    /// A boolean in quotation marks: `"true"` or `"false"`.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, quotedFlag: Bool) {
        self.name(name, room: 7)
        if quotedFlag { put("\"true\"") } else { put("\"false\"") }
    }

    /// A boolean as a digit in quotation marks: `"1"` or `"0"`.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, quotedDigit: Bool) {
        self.name(name, room: 3)
        if quotedDigit { put("\"1\"") } else { put("\"0\"") }
    }

    /// Bytes in Base64.
    package mutating func member(_ name: StaticString, base64: [UInt8]) {
        let encodedCount = Base64.encodedCount(base64.count)
        self.name(name, room: encodedCount + 2)
        put(UInt8(ascii: "\""))
        Base64.encode(base64.span, to: memory + count)
        count += encodedCount
        put(UInt8(ascii: "\""))
    }

    /// Bytes that were written before: whole members with their commas.
    package mutating func append(_ bytes: [UInt8]) {
        makeRoom(bytes.count)
        put(bytes.span)
        needsComma = true
    }

    /// A string in an array.
    package mutating func element(_ value: String) {
        makeRoom(1)
        separate()
        quoted(value)
        needsComma = true
    }

    /// A string of ASCII characters in an array that need no escapes.
    package mutating func element(ascii value: Span<UInt8>) {
        makeRoom(value.count + 3)
        separate()
        put(UInt8(ascii: "\""))
        put(value)
        put(UInt8(ascii: "\""))
        needsComma = true
    }

    /// A number in an array.
    package mutating func element(number: Int64) {
        makeRoom(1 + Self.longestNumber)
        separate()
        decimal(number)
        needsComma = true
    }

    // MARK: Pieces

    /// The most characters of an Int64 in decimal.
    @usableFromInline static let longestNumber = 20

    @inlinable @inline(__always)
    mutating func makeRoom(_ needed: Int) {
        if capacity - count < needed { grow(needed) }
    }

    @usableFromInline @inline(never)
    mutating func grow(_ needed: Int) {
        let larger = max(capacity * 2, count + needed)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: memory, byteCount: count)
        memory.deallocate()
        memory = moved
        capacity = larger
    }

    /// Writes a name after the preceding value, and reserves room for the name and its value.
    @inlinable @inline(__always)
    mutating func name(_ name: StaticString, suffix: StaticString = "", room: Int) {
        makeRoom(name.utf8CodeUnitCount + suffix.utf8CodeUnitCount + 4 + room)
        separate()
        put(UInt8(ascii: "\""))
        put(name)
        put(suffix)
        put("\":")
        needsComma = true
    }

    @inlinable @inline(__always)
    mutating func separate() {
        memory.storeBytes(of: UInt8(ascii: ","), toByteOffset: count, as: UInt8.self)
        count += needsComma ? 1 : 0
    }

    @inlinable @inline(__always)
    mutating func put(_ byte: UInt8) {
        memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inlinable @inline(__always)
    mutating func put(_ literal: StaticString) {
        (memory + count).copyMemory(from: literal.utf8Start, byteCount: literal.utf8CodeUnitCount)
        count += literal.utf8CodeUnitCount
    }

    @inlinable @inline(__always)
    mutating func put(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: memory + count, count: bytes.count).copyMemory(from: bytes)
        }
        count += bytes.count
    }

    @inlinable @inline(__always)
    mutating func decimal(_ number: Int64) {
        if number >= 0, number <= 9 {
            put(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number))
        } else {
            decimalOfAnyLength(number)
        }
    }

    @usableFromInline @inline(never)
    mutating func decimalOfAnyLength(_ number: Int64) {
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
    @usableFromInline @inline(never)
    mutating func quoted(_ text: String) {
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
