import Foundation

/// An attribute in the receipt's bytes.
struct PayloadAttribute {
    let type: Int64
    let version: Int64
    let value: BERCursor

    /// The attribute with its unchanged value. The constants of Apple's server are shared, not allocated for every
    /// purchase.
    var kept: ReceiptAttribute {
        let range = value.position..<value.end
        let octets: [UInt8] =
            if value.matches(range, Self.emptyText) {
                Self.emptyText
            } else if value.matches(range, Self.zero) {
                Self.zero
            } else {
                value.bytes.octets(range)
            }
        return ReceiptAttribute(type: type, version: version, value: octets)
    }

    /// Whether ``kept`` would equal this attribute.
    @inline(__always)
    func isKept(_ attribute: ReceiptAttribute) -> Bool {
        type == attribute.type && version == attribute.version
            && value.matches(value.position..<value.end, attribute.value)
    }

    private static let emptyText: [UInt8] = [BERTag.utf8String, 0]
    private static let zero: [UInt8] = [BERTag.integer, 1, 0]

    /// The value's octets.
    var octets: [UInt8] { value.bytes.octets(value.position..<value.end) }

    /// The value as one INTEGER.
    func integer() throws(ReceiptRejection) -> Int64 {
        // Nearly all are 02 01 NN.
        if value.remaining == 3, value.bytes[value.position] == BERTag.integer, value.bytes[value.position + 1] == 1 {
            return Int64(Int8(bitPattern: value.bytes[value.position + 2]))
        }
        var cursor = value
        let integer = try cursor.integer("an attribute's value")
        try expectEnd(cursor)
        return integer
    }

    /// The value as one UTF8String or IA5String.
    func text() throws(ReceiptRejection) -> String {
        let characters = try string()
        let utf8 = UnsafeRawBufferPointer(rebasing: value.bytes[characters])
        if utf8.isASCII { return String(decoding: utf8, as: UTF8.self) }
        guard let text = String(validating: utf8, as: UTF8.self) else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not UTF-8")
        }
        return text
    }

    /// The value as one UTF8String or IA5String. Returns `known`, without an allocation, when the value equals it.
    func text(or known: String) throws(ReceiptRejection) -> String {
        let characters = try string()
        var known = known
        let isKnown = known.withUTF8 { utf8 in
            utf8.count == characters.count
                && utf8.baseAddress.map { base in
                    value.bytes.baseAddress.map { memcmp($0 + characters.lowerBound, base, utf8.count) == 0 } ?? false
                } ?? false
        }
        return isKnown ? known : try text()
    }

    /// The value as a date; nil when it is empty.
    func date() throws(ReceiptRejection) -> Date? {
        if value.isAtEnd { return nil }
        let characters = try string()
        if characters.isEmpty { return nil }
        guard let date = RFC3339.parse(UnsafeRawBufferPointer(rebasing: value.bytes[characters])) else {
            throw ReceiptRejection(.malformed, "attribute \(type) is not a date of RFC 3339")
        }
        return date
    }

    /// The value as a date, which must not be empty.
    func requiredDate() throws(ReceiptRejection) -> Date {
        guard let date = try date() else { throw ReceiptRejection(.malformed, "attribute \(type) is empty") }
        return date
    }

    private func string() throws(ReceiptRejection) -> Range<Int> {
        var cursor = value
        let element = try cursor.next()
        guard element.tag == BERTag.utf8String || element.tag == BERTag.ia5String else {
            throw notString
        }
        try expectEnd(cursor)
        return element.content
    }

    @inline(__always)
    private func expectEnd(_ cursor: BERCursor) throws(ReceiptRejection) {
        guard cursor.isAtEnd else { throw moreThanOne }
    }

    private var notString: ReceiptRejection { ReceiptRejection(.malformed, "attribute \(type) is not a string") }
    private var moreThanOne: ReceiptRejection {
        ReceiptRejection(.malformed, "attribute \(type) holds more than one value")
    }
}

extension BERCursor {
    /// The number of octets that are left.
    var remaining: Int { end - position }

    /// Reads an attribute in the form that all attributes of a purchase have: lengths below 128, a type of two octets
    /// and a version of one octet. For any other form, valid or not, it reads nothing and returns nil.
    @inline(__always)
    mutating func nextPurchaseAttribute() -> PayloadAttribute? {
        // 30 LL 02 02 TT TT 02 01 VV 04 MM and MM octets of value.
        let headCount = 11
        guard end - position >= headCount, depth + 2 <= Self.maximumDepth, let base = bytes.baseAddress else {
            return nil
        }
        let head = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        guard head & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030 else { return nil }
        let length = Int(head >> 8 & 0xFF)
        let valueLength = Int(bytes[position + 10])
        guard length < 0x80, length == valueLength + headCount - 2, bytes[position + 9] == BERTag.octetString,
            length + 2 <= end - position
        else { return nil }
        let start = position + headCount
        let type = Int16(truncatingIfNeeded: head >> 40 & 0xFF | (head >> 32 & 0xFF) << 8)
        let attribute = PayloadAttribute(
            type: Int64(type), version: Int64(Int8(bitPattern: bytes[position + 8])),
            value: BERCursor(bytes: bytes, range: start..<start + valueLength, depth: depth + 2))
        skip(length + 2)
        return attribute
    }
}

extension UnsafeRawBufferPointer {
    /// Whether every octet is below 128.
    fileprivate var isASCII: Bool {
        var union: UInt64 = 0
        var offset = 0
        while offset + 8 <= count {
            union |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < count {
            union |= UInt64(self[offset])
            offset += 1
        }
        return union & 0x8080_8080_8080_8080 == 0
    }
}
