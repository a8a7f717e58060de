/// Standard Base64 (RFC 4648, section 4), straight between byte buffers.
///
/// Reading is strict: the alphabet with `+` and `/`, no bits left over, padding complete or left out. Padding says
/// nothing that the length does not, and Java's decoder, on which Apple's `verifyReceipt` runs by the exceptions that
/// it has answered with, does without it too. Line breaks (CR, LF) between characters are passed over, since many
/// clients send receipts wrapped in lines; a space is not, since that is what becomes of a `+` that was not
/// URL-encoded, and Apple answers such a receipt with 21002.
public enum Base64 {
    /// The bytes that the text stands for, or nil if it is not Base64. At most three quarters of the text's size is
    /// allocated (and once the text's size if it has line breaks).
    public static func decoded(_ text: Span<UInt8>) -> [UInt8]? {
        let (bytes, end) = decodedPrefix(text, from: 0)
        return end == text.count ? bytes : decodedWithoutLineBreaksOrPadding(text)
    }

    /// The bytes that the text stands for, or nil if it is not Base64.
    public static func decoded(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        return decoded(utf8.span)
    }

    /// The bytes in Base64, with padding and in one line.
    public static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        appendEncoded(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the bytes in Base64, with padding and in one line.
    static func appendEncoded(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text.append(addingCapacity: encodedCount(bytes.count)) { (output: inout OutputSpan<UInt8>) in
            output.withUnsafeMutableBufferPointer { buffer, count in
                guard let base = buffer.baseAddress else { return }
                encode(bytes, to: UnsafeMutableRawPointer(base + count))
                count += encodedCount(bytes.count)
            }
        }
    }

    /// How many characters so many bytes become.
    static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes the bytes in Base64, ``encodedCount(_:)`` characters of them, to memory that has room for them.
    static func encode(_ bytes: Span<UInt8>, to text: UnsafeMutableRawPointer) {
        let text = text.assumingMemoryBound(to: UInt8.self)
        let letters = alphabet.span
        let count = bytes.count
        var index = 0
        var end = 0
        while index + 3 <= count {
            let group =
                Int(bytes[unchecked: index]) << 16 | Int(bytes[unchecked: index + 1]) << 8
                | Int(bytes[unchecked: index + 2])
            text[end] = letters[unchecked: group >> 18]
            text[end + 1] = letters[unchecked: group >> 12 & 63]
            text[end + 2] = letters[unchecked: group >> 6 & 63]
            text[end + 3] = letters[unchecked: group & 63]
            index += 3
            end += 4
        }
        guard index < count else { return }
        let two = index + 2 == count
        let group = Int(bytes[index]) << 16 | (two ? Int(bytes[index + 1]) << 8 : 0)
        text[end] = letters[group >> 18]
        text[end + 1] = letters[group >> 12 & 63]
        text[end + 2] = two ? letters[group >> 6 & 63] : pad
        text[end + 3] = pad
    }

    /// Decodes the text from an index on for as long as it is Base64 without line breaks. `end` is the index of the
    /// first byte that does not belong to a whole group of four or the padded last group.
    static func decodedPrefix(_ text: Span<UInt8>, from start: Int) -> (bytes: [UInt8], end: Int) {
        var end = start
        let bytes = text.withUnsafeBufferPointer { buffer -> [UInt8] in
            guard let base = buffer.baseAddress, buffer.count - start >= 4 else { return [] }
            let characters = UnsafeRawPointer(base + start)
            let count = buffer.count - start
            // Eight characters are written as eight bytes, of which the next eight overwrite two.
            return [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 2) { output, outputCount in
                guard let target = output.baseAddress else { return }
                let read = wholeGroups(characters, count, values, to: UnsafeMutableRawPointer(target))
                let written = read / 4 * 3
                let rest = lastGroup(characters + read, count - read, to: target + written)
                end = start + read + (rest > 0 ? 4 : 0)
                outputCount = written + rest
            }
        }
        return (bytes, end)
    }

    /// The bytes that text without padding stands for, or nil if it is none in an alphabet: all groups are whole but the last, which
    /// may have two or three letters.
    /// - Parameter values: the alphabet's (``values(of:)``).
    static func decodedWithoutPadding(_ text: Span<UInt8>, _ values: [UInt32]) -> [UInt8]? {
        var isWhole = text.isEmpty
        let bytes = text.withUnsafeBufferPointer { buffer -> [UInt8] in
            guard let base = buffer.baseAddress else { return [] }
            let count = buffer.count
            // As above; what is left of a last group has room where eight bytes had too much.
            return [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 2) { output, outputCount in
                guard let target = output.baseAddress else { return }
                let read = wholeGroups(
                    UnsafeRawPointer(base), count, values, to: UnsafeMutableRawPointer(target))
                let written = read / 4 * 3
                let rest = partOfGroup(
                    UnsafeRawPointer(base) + read, count - read, values.span, to: target + written)
                isWhole = rest > 0 || read == count
                outputCount = written + rest
            }
        }
        return isWhole ? bytes : nil
    }

    /// Decodes groups of four characters until one is not four letters of the alphabet; gives how many characters that
    /// were.
    private static func wholeGroups(
        _ text: UnsafeRawPointer, _ count: Int, _ values: [UInt32], to bytes: UnsafeMutableRawPointer
    ) -> Int {
        values.withUnsafeBufferPointer { values in
            guard let values = values.baseAddress else { return 0 }
            var text = text
            let start = text
            let end = text + count
            var bytes = bytes
            while end - text >= 8 {
                let letters = UInt64(littleEndian: text.loadUnaligned(as: UInt64.self))
                let first = group(values, UInt32(truncatingIfNeeded: letters))
                let second = group(values, UInt32(truncatingIfNeeded: letters >> 32))
                guard (first | second) < limit else { break }
                bytes.storeBytes(of: (UInt64(first) | UInt64(second) << 24).littleEndian, as: UInt64.self)
                text += 8
                bytes += 6
            }
            while end - text >= 4 {
                let group = group(values, UInt32(littleEndian: text.loadUnaligned(as: UInt32.self)))
                guard group < limit else { break }
                bytes.storeBytes(of: UInt8(truncatingIfNeeded: group), as: UInt8.self)
                bytes.storeBytes(of: UInt8(truncatingIfNeeded: group >> 8), toByteOffset: 1, as: UInt8.self)
                bytes.storeBytes(of: UInt8(truncatingIfNeeded: group >> 16), toByteOffset: 2, as: UInt8.self)
                text += 4
                bytes += 3
            }
            return text - start
        }
    }

    /// The three bytes, the first one lowest, that four letters stand for; at least ``limit`` if one is no letter.
    @inline(__always)
    private static func group(_ values: UnsafePointer<UInt32>, _ letters: UInt32) -> UInt32 {
        values[Int(letters & 0xFF)] | values[256 + Int(letters >> 8 & 0xFF)] | values[512 + Int(letters >> 16 & 0xFF)]
            | values[768 + Int(letters >> 24)]
    }

    /// Decodes a last group with its padding; gives how many bytes it holds, 0 if it is none.
    private static func lastGroup(_ text: UnsafeRawPointer, _ count: Int, to bytes: UnsafeMutablePointer<UInt8>) -> Int
    {
        guard count >= 4, text.load(fromByteOffset: 3, as: UInt8.self) == pad else { return 0 }
        return partOfGroup(
            text, text.load(fromByteOffset: 2, as: UInt8.self) == pad ? 2 : 3, values.span, to: bytes)
    }

    /// Decodes the two or three letters of a last group; gives how many bytes they hold, 0 if they are none.
    private static func partOfGroup(
        _ text: UnsafeRawPointer, _ count: Int, _ values: Span<UInt32>, to bytes: UnsafeMutablePointer<UInt8>
    ) -> Int {
        guard count == 2 || count == 3 else { return 0 }
        var group =
            values[Int(text.load(as: UInt8.self))] | values[256 + Int(text.load(fromByteOffset: 1, as: UInt8.self))]
        if count == 3 { group |= values[512 + Int(text.load(fromByteOffset: 2, as: UInt8.self))] }
        let held = count - 1
        // No bits may be left over.
        guard group < limit, group >> (UInt32(held) * 8) == 0 else { return 0 }
        bytes[0] = UInt8(truncatingIfNeeded: group)
        if held == 2 { bytes[1] = UInt8(truncatingIfNeeded: group >> 8) }
        return held
    }

    private static func decodedWithoutLineBreaksOrPadding(_ text: Span<UInt8>) -> [UInt8]? {
        var joined: [UInt8] = []
        joined.reserveCapacity(text.count)
        for index in text.indices {
            let byte = text[index]
            if byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { joined.append(byte) }
        }
        guard joined.last == pad else { return decodedWithoutPadding(joined.span, values) }
        let (bytes, end) = decodedPrefix(joined.span, from: 0)
        return end == joined.count ? bytes : nil
    }

    private static let pad = UInt8(ascii: "=")
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Above every group of four characters.
    private static let limit: UInt32 = 1 << 24
    /// What each byte adds to a group's three bytes (the first one lowest) at each of its four places, place after
    /// place. What is not in the alphabet adds ``limit``.
    private static let values = values(of: alphabet)

    /// The same of any alphabet of 64 letters.
    static func values(of alphabet: [UInt8]) -> [UInt32] {
        var values = [UInt32](repeating: limit, count: 1_024)
        for (value, letter) in alphabet.enumerated() {
            let (letter, value) = (Int(letter), UInt32(value))
            values[letter] = value << 2
            values[256 + letter] = value >> 4 | (value & 15) << 12
            values[512 + letter] = (value >> 2) << 8 | (value & 3) << 22
            values[768 + letter] = value << 16
        }
        return values
    }
}
