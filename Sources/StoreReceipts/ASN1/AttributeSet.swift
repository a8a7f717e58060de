/// Builds `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`, the form of a receipt's payload and
/// of each purchase in it.
///
/// Elements are sorted by their encoding, as DER requires of a SET OF and as Apple's server does (receipts of 2015 to
/// 2025).
struct AttributeSet {
    private var bytes: [UInt8] = []
    private var elements: [Range<Int>] = []

    init(expecting byteCount: Int) {
        bytes.reserveCapacity(byteCount)
        elements.reserveCapacity(32)
    }

    /// Adds an attribute with an encoded value.
    mutating func addRaw(_ type: Int64, version: Int64, _ value: some Collection<UInt8>) {
        begin(type, version: version, valueCount: value.count)
        bytes.append(contentsOf: value)
        end()
    }

    /// Adds an attribute whose value is one string.
    mutating func addText(_ type: Int64, _ tag: UInt8, _ text: some Collection<UInt8>) {
        let count = text.count
        begin(type, version: 1, valueCount: DERWriter.headerCount(length: count) + count)
        DERWriter.appendHeader(tag, length: count, to: &bytes)
        bytes.append(contentsOf: text)
        end()
    }

    /// Adds an attribute whose value is one INTEGER.
    mutating func addInteger(_ type: Int64, _ value: Int64) {
        begin(type, version: 1, valueCount: 2 + DERWriter.integerCount(value))
        DERWriter.appendInteger(value, to: &bytes)
        end()
    }

    /// The whole SET, sorted.
    func encoded() -> [UInt8] {
        var sorted = elements
        bytes.withUnsafeBytes { raw in
            sorted.sort { left, right in
                raw[left].lexicographicallyPrecedes(raw[right])
            }
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 6)
        DERWriter.appendHeader(BERTag.set, length: bytes.count, to: &result)
        for element in sorted { result.append(contentsOf: bytes[element]) }
        return result
    }

    private mutating func begin(_ type: Int64, version: Int64, valueCount: Int) {
        elements.append(bytes.count..<bytes.count)
        let count =
            4 + DERWriter.integerCount(type) + DERWriter.integerCount(version)
            + DERWriter.headerCount(length: valueCount)
            + valueCount
        DERWriter.appendHeader(BERTag.sequence, length: count, to: &bytes)
        DERWriter.appendInteger(type, to: &bytes)
        DERWriter.appendInteger(version, to: &bytes)
        DERWriter.appendHeader(BERTag.octetString, length: valueCount, to: &bytes)
    }

    private mutating func end() {
        let last = elements.count - 1
        elements[last] = elements[last].lowerBound..<bytes.count
    }
}
