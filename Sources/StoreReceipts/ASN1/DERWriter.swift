/// Writes DER (X.690) into byte arrays.
enum DERWriter {
    /// Appends a tag and a length in its shortest form.
    static func appendHeader(_ tag: UInt8, length: Int, to bytes: inout [UInt8]) {
        bytes.append(tag)
        if length < 0x80 {
            bytes.append(UInt8(length))
        } else if length <= 0xff {
            bytes.append(0x81)
            bytes.append(UInt8(length))
        } else if length <= 0xffff {
            bytes.append(0x82)
            bytes.append(UInt8(length >> 8))
            bytes.append(UInt8(length & 0xff))
        } else {
            let count = length <= 0xff_ffff ? 3 : 4
            bytes.append(0x80 | UInt8(count))
            for index in stride(from: count - 1, through: 0, by: -1) {
                bytes.append(UInt8(truncatingIfNeeded: length >> (index * 8)))
            }
        }
    }

    /// The number of octets that ``appendHeader(_:length:to:)`` writes.
    static func headerCount(length: Int) -> Int {
        switch length {
        case ..<0x80: 2
        case ..<0x100: 3
        case ..<0x1_0000: 4
        case ..<0x100_0000: 5
        default: 6
        }
    }

    /// An element with its header.
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + 6)
        appendHeader(tag, length: content.count, to: &bytes)
        bytes.append(contentsOf: content)
        return bytes
    }

    /// The number of octets of an INTEGER's content.
    static func integerCount(_ value: Int64) -> Int {
        var count = 1
        while count < 8, value >> (count * 8 - 1) != (value < 0 ? -1 : 0) { count += 1 }
        return count
    }

    /// Appends an INTEGER with its header.
    static func appendInteger(_ value: Int64, to bytes: inout [UInt8]) {
        let count = integerCount(value)
        bytes.append(BERTag.integer)
        bytes.append(UInt8(count))
        for index in stride(from: count - 1, through: 0, by: -1) {
            bytes.append(UInt8(truncatingIfNeeded: value >> (index * 8)))
        }
    }
}
