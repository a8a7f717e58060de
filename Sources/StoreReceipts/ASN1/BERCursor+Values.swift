import Foundation

/// The octets of an OCTET STRING: a range of the input, or the joined segments of a constructed string.
enum Octets {
    case contiguous(Range<Int>)
    case assembled([UInt8])
}

extension BERCursor {
    /// Reads an OCTET STRING, primitive or constructed (as Xcode writes it).
    mutating func octets(_ what: StaticString) throws(ReceiptRejection) -> Octets {
        let start = position
        let element = try next()
        if element.tag == BERTag.octetString { return .contiguous(element.content) }
        guard element.tag == BERTag.constructedOctetString else {
            throw Self.expected(what, start)
        }
        var pieces: [Range<Int>] = []
        try inside(element).collectPieces(into: &pieces)
        if pieces.count == 1 { return .contiguous(pieces[0]) }
        var assembled: [UInt8] = []
        assembled.reserveCapacity(element.content.count)
        for piece in pieces { assembled.append(contentsOf: bytes[piece]) }
        return .assembled(assembled)
    }

    private consuming func collectPieces(into pieces: inout [Range<Int>]) throws(ReceiptRejection) {
        var cursor = self
        while !cursor.isAtEnd {
            let piece = try cursor.next()
            switch piece.tag {
            case BERTag.octetString: pieces.append(piece.content)
            case BERTag.constructedOctetString: try cursor.inside(piece).collectPieces(into: &pieces)
            default: throw ReceiptRejection(.malformed, "an octet string holds something else at offset \(piece.start)")
            }
        }
    }

    /// Reads an INTEGER that fits 64 bits.
    @inline(__always)
    mutating func integer(_ what: StaticString) throws(ReceiptRejection) -> Int64 {
        let element = try next(BERTag.integer, what)
        guard (1...8).contains(element.content.count) else { throw Self.tooWide(what, element.start) }
        var value: Int64 = bytes[element.content.lowerBound] >= 0x80 ? -1 : 0
        for offset in element.content { value = value << 8 | Int64(bytes[offset]) }
        return value
    }

    @inline(never)
    private static func tooWide(_ what: StaticString, _ offset: Int) -> ReceiptRejection {
        ReceiptRejection(.malformed, "\(what) at offset \(offset) does not fit 64 bits")
    }

    /// Whether the octets at `range` are exactly `expected`.
    func matches(_ range: Range<Int>, _ expected: [UInt8]) -> Bool {
        bytes.matches(range, expected)
    }
}

extension UnsafeRawBufferPointer {
    /// The octets at `range`.
    func octets(_ range: Range<Int>) -> [UInt8] {
        guard let base = baseAddress, !range.isEmpty else { return [] }
        return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            UnsafeMutableRawBufferPointer(buffer)
                .copyMemory(from: UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
            count = range.count
        }
    }

    /// Whether the octets at `range` are exactly `expected`.
    func matches(_ range: Range<Int>, _ expected: [UInt8]) -> Bool {
        guard range.count == expected.count else { return false }
        guard let base = baseAddress, !range.isEmpty else { return true }
        return expected.withUnsafeBytes { other in
            guard let otherBase = other.baseAddress else { return false }
            return memcmp(base + range.lowerBound, otherBase, range.count) == 0
        }
    }
}
