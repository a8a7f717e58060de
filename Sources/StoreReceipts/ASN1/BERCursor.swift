/// A BER element (tag, length and value), as offsets into the bytes that it was read from.
struct BERElement {
    let tag: UInt8
    /// The offset of the tag.
    let start: Int
    /// The value's octets, without the end-of-contents mark of an indefinite length.
    let content: Range<Int>
    /// The first offset after the element.
    let end: Int

    var whole: Range<Int> { start..<end }
}

/// Reads BER (X.690) in place: it copies nothing, checks every length against the enclosing element, and limits the
/// depth.
///
/// Apple's server sends DER. Xcode sends indefinite lengths and constructed octet strings, so the cursor reads both.
struct BERCursor {
    /// No known receipt is nested more than eleven levels deep, counting the certificates' own structure.
    static let maximumDepth = 16

    let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    let end: Int
    let depth: Int

    /// Reads all of `bytes`.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(bytes: bytes, range: 0..<bytes.count, depth: 0)
    }

    init(bytes: UnsafeRawBufferPointer, range: Range<Int>, depth: Int) {
        self.bytes = bytes
        self.position = range.lowerBound
        self.end = range.upperBound
        self.depth = depth
    }

    var isAtEnd: Bool { position == end }

    /// The tag of the next element; nil at the end.
    var upcomingTag: UInt8? { position < end ? bytes[position] : nil }

    /// Reads one element and moves past it.
    @inline(__always)
    mutating func next() throws(ReceiptRejection) -> BERElement {
        // Nearly all elements are short. A receipt has a thousand of them, and reading it should cost no more than
        // checking its signature.
        let start = position
        if end - start >= 2 {
            let tag = bytes[start]
            let length = Int(bytes[start + 1])
            if length < 0x80, length <= end - start - 2, tag & 0x1f != 0x1f, tag != 0 {
                position = start + 2 + length
                return BERElement(tag: tag, start: start, content: start + 2..<position, end: position)
            }
        }
        return try nextOfAnyForm()
    }

    /// Moves past an element of so many octets that the caller has read itself.
    @inline(__always)
    mutating func skip(_ count: Int) { position += count }

    @inline(never)
    private mutating func nextOfAnyForm() throws(ReceiptRejection) -> BERElement {
        let start = position
        guard end - start >= 2 else { throw shortage() }
        let tag = bytes[start]
        guard tag & 0x1f != 0x1f, tag != 0 else {
            throw ReceiptRejection(.malformed, "receipts do not use the tag at offset \(start)")
        }
        let first = bytes[start + 1]
        var contentStart = start + 2
        var length = Int(first)
        if first == 0x80 {
            guard tag & 0x20 != 0 else {
                throw ReceiptRejection(.malformed, "a primitive value of indefinite length at offset \(start)")
            }
            let contentEnd = try endOfContents(from: contentStart, depth: depth + 1)
            position = contentEnd + 2
            return BERElement(tag: tag, start: start, content: contentStart..<contentEnd, end: position)
        }
        if first > 0x80 {
            let count = Int(first & 0x7f)
            guard count <= 4 else {
                throw ReceiptRejection(.malformed, "a length of \(count) octets at offset \(start)")
            }
            guard end - contentStart >= count else { throw shortage() }
            length = 0
            for offset in contentStart..<contentStart + count { length = length << 8 | Int(bytes[offset]) }
            contentStart += count
        }
        guard length <= end - contentStart else { throw shortage() }
        position = contentStart + length
        return BERElement(tag: tag, start: start, content: contentStart..<position, end: position)
    }

    /// Reads one element that must have this tag. `what` names the element in the error.
    @inline(__always)
    mutating func next(_ tag: UInt8, _ what: StaticString) throws(ReceiptRejection) -> BERElement {
        let start = position
        let element = try next()
        guard element.tag == tag else { throw Self.expected(what, start) }
        return element
    }

    @inline(never)
    static func expected(_ what: StaticString, _ offset: Int) -> ReceiptRejection {
        ReceiptRejection(.malformed, "expected \(what) at offset \(offset)")
    }

    /// A cursor over an element's content, one level deeper.
    @inline(__always)
    func inside(_ element: BERElement) throws(ReceiptRejection) -> BERCursor {
        guard depth < Self.maximumDepth else { throw Self.tooDeep }
        return BERCursor(bytes: bytes, range: element.content, depth: depth + 1)
    }

    /// Refuses any octets after the last element of a structure.
    @inline(__always)
    func expectEnd(_ what: StaticString) throws(ReceiptRejection) {
        guard isAtEnd else { throw goingOn(what) }
    }

    @inline(never)
    private func goingOn(_ what: StaticString) -> ReceiptRejection {
        ReceiptRejection(.malformed, "\(what) has more octets after its last element, at offset \(position)")
    }

    private static var tooDeep: ReceiptRejection { ReceiptRejection(.tooDeep, "nested more than \(maximumDepth) deep") }

    /// An element that exceeds the input is truncated; one that only exceeds the enclosing element contradicts its
    /// length.
    private func shortage() -> ReceiptRejection {
        end == bytes.count
            ? ReceiptRejection(.truncated, "the bytes end inside the element at offset \(position)")
            : ReceiptRejection(.malformed, "the element at offset \(position) is longer than its enclosing element")
    }

    /// Finds the two zero octets that end an indefinite length, moving past whole elements.
    private func endOfContents(from offset: Int, depth: Int) throws(ReceiptRejection) -> Int {
        guard depth <= Self.maximumDepth else { throw Self.tooDeep }
        var inner = BERCursor(bytes: bytes, range: offset..<end, depth: depth)
        while true {
            guard end - inner.position >= 2 else { throw inner.shortage() }
            if bytes[inner.position] == 0, bytes[inner.position + 1] == 0 { return inner.position }
            _ = try inner.next()
        }
    }
}

/// The tags that receipts use.
enum BERTag {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let constructedOctetString: UInt8 = 0x24
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let utf8String: UInt8 = 0x0c
    static let ia5String: UInt8 = 0x16
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    static let context0: UInt8 = 0xa0
    static let context1: UInt8 = 0xa1
}
