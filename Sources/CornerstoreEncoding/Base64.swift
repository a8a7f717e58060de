/// Standard Base64 (RFC 4648, section 4), read and written directly between byte buffers.
///
/// Reading is strict: the alphabet with `+` and `/`, no bits left over, and padding complete or left out. Padding adds
/// no information to the length. Java's decoder also works without it, and Apple's `verifyReceipt` runs on Java,
/// judging by the exceptions that it has answered with. Line breaks (CR, LF) between characters are ignored, since many
/// clients send receipts wrapped in lines. A space is refused: a `+` that was not URL-encoded becomes a space, and
/// Apple answers such a receipt with 21002.
package enum Base64 {
    /// The decoded bytes; nil if the text is not Base64. The function allocates at most three quarters of the text's
    /// size, and in addition the text's size once if it has line breaks.
    package static func decoded(_ text: Span<UInt8>) -> [UInt8]? {
        let (bytes, end) = decodedPrefix(text, from: 0)
        return end == text.count ? bytes : decodedWithoutLineBreaksOrPadding(text)
    }

    /// The decoded bytes; nil if the text is not Base64.
    package static func decoded(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        return decoded(utf8.span)
    }

    /// The bytes in Base64, with padding and in one line.
    package static func encoded(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: encodedCount(bytes.count)) { text in
            guard let base = text.baseAddress else { return 0 }
            encode(bytes.span, to: UnsafeMutableRawPointer(base))
            return encodedCount(bytes.count)
        }
    }

    /// The number of characters that encode so many bytes.
    static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes the bytes in Base64 to memory that has room for ``encodedCount(_:)`` characters.
    static func encode(_ bytes: Span<UInt8>, to text: UnsafeMutableRawPointer) {
        encode(bytes, in: alphabet.span, to: text)
    }

    /// Writes the bytes in Base64 with padding, in the letters of any alphabet, to memory that has room for
    /// ``encodedCount(_:)`` characters.
    static func encode(_ bytes: Span<UInt8>, in letters: Span<UInt8>, to text: UnsafeMutableRawPointer) {
        let text = text.assumingMemoryBound(to: UInt8.self)
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

    /// Decodes the text from an index for as long as it is Base64 without line breaks. `end` is the index of the first
    /// byte that belongs neither to a complete group of four nor to a padded last group.
    package static func decodedPrefix(_ text: Span<UInt8>, from start: Int) -> (bytes: [UInt8], end: Int) {
        var end = start
        let bytes = text.withUnsafeBufferPointer { buffer -> [UInt8] in
            guard let base = buffer.baseAddress, buffer.count - start >= 4 else { return [] }
            let characters = UnsafeRawPointer(base + start)
            let count = buffer.count - start
            // Eight characters are stored as eight bytes; the next store overwrites the last two.
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

    /// The decoded bytes of text without padding; nil if it is not valid in the alphabet. All groups have four letters
    /// except the last, which may have two or three.
    /// - Parameter values: the table of the alphabet (``values(of:)``).
    static func decodedWithoutPadding(_ text: Span<UInt8>, _ values: [UInt32]) -> [UInt8]? {
        var isWhole = text.isEmpty
        let bytes = text.withUnsafeBufferPointer { buffer -> [UInt8] in
            guard let base = buffer.baseAddress else { return [] }
            let count = buffer.count
            // As above. The last group fits in the room that the eight-byte stores needed in addition.
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

    /// Decodes groups of four letters until a group has another character. Returns the number of decoded characters.
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

    /// The three bytes of four letters, with the first byte lowest; at least ``limit`` if a character is not a letter.
    @inline(__always)
    private static func group(_ values: UnsafePointer<UInt32>, _ letters: UInt32) -> UInt32 {
        values[Int(letters & 0xFF)] | values[256 + Int(letters >> 8 & 0xFF)] | values[512 + Int(letters >> 16 & 0xFF)]
            | values[768 + Int(letters >> 24)]
    }

    /// Decodes a last group with its padding. Returns its number of bytes; 0 if it is invalid.
    private static func lastGroup(_ text: UnsafeRawPointer, _ count: Int, to bytes: UnsafeMutablePointer<UInt8>) -> Int
    {
        guard count >= 4, text.load(fromByteOffset: 3, as: UInt8.self) == pad else { return 0 }
        return partOfGroup(
            text, text.load(fromByteOffset: 2, as: UInt8.self) == pad ? 2 : 3, values.span, to: bytes)
    }

    /// Decodes the two or three letters of a last group. Returns their number of bytes; 0 if they are invalid.
    private static func partOfGroup(
        _ text: UnsafeRawPointer, _ count: Int, _ values: Span<UInt32>, to bytes: UnsafeMutablePointer<UInt8>
    ) -> Int {
        guard count == 2 || count == 3 else { return 0 }
        var group =
            values[Int(text.load(as: UInt8.self))] | values[256 + Int(text.load(fromByteOffset: 1, as: UInt8.self))]
        if count == 3 { group |= values[512 + Int(text.load(fromByteOffset: 2, as: UInt8.self))] }
        let held = count - 1
        // The remaining bits must be zero.
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

    /// A value above that of every group of four letters.
    private static let limit: UInt32 = 1 << 24
    /// The bits that each byte adds to a group's three bytes (the first byte lowest) at each of its four positions,
    /// position after position. A byte outside the alphabet adds ``limit``.
    private static let values = values(of: alphabet)

    /// The table for any alphabet of 64 letters.
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
