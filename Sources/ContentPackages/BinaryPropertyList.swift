/// Counts the values of a binary property list before Foundation reads it.
///
/// In this format several arrays or dictionaries can contain the same one. Foundation reads every occurrence, so a few
/// hundred bytes could fill the memory.
struct BinaryPropertyList {
    private static let magic = Array("bplist".utf8)
    private static let trailerSize = 32

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objects: Int
    private let top: Int
    private let offsetTable: Int

    /// Whether the bytes are a binary property list that is damaged, or that has more values than bytes. A list that
    /// repeats no array or dictionary has fewer, because each value in one takes at least a byte.
    static func isRefused(_ bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: magic) else { return false }
        return BinaryPropertyList(bytes)?.hasFewValues != true
    }

    /// Reads the trailer. Returns nil for an impossible one.
    private init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.trailerSize else { return nil }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard let objects = Self.number(bytes, at: trailer + 8, size: 8), objects <= bytes.count,
            let top = Self.number(bytes, at: trailer + 16, size: 8),
            let offsetTable = Self.number(bytes, at: trailer + 24, size: 8), offsetTable <= bytes.count
        else { return nil }
        self.bytes = bytes
        self.objects = objects
        self.top = top
        self.offsetTable = offsetTable
    }

    private var hasFewValues: Bool {
        var waiting = [top]
        var count = 0
        while let object = waiting.popLast() {
            count += 1
            guard let contents = contents(of: object), count + waiting.count + contents.count <= bytes.count else {
                return false
            }
            waiting += contents
        }
        return true
    }

    /// The objects in an array, set or dictionary, keys included; empty for a single value, nil for a damaged list.
    private func contents(of object: Int) -> [Int]? {
        guard object < objects,
            let place = Self.number(bytes, at: offsetTable + object * offsetSize, size: offsetSize),
            place < bytes.count
        else { return nil }
        let (kind, low) = (bytes[place] >> 4, Int(bytes[place] & 0xF))
        guard (0xA...0xD).contains(kind) else { return [] }
        var start = place + 1
        var length = low
        if low == 0xF {
            // A number follows, which has its own size as a power of two.
            guard start < bytes.count, bytes[start] >> 4 == 1, bytes[start] & 0xF <= 3 else { return nil }
            let size = 1 << Int(bytes[start] & 0xF)
            guard let number = Self.number(bytes, at: start + 1, size: size) else { return nil }
            start += 1 + size
            length = number
        }
        guard length <= bytes.count else { return nil }
        var contents: [Int] = []
        for index in 0..<(kind == 0xD ? 2 * length : length) {
            guard let object = Self.number(bytes, at: start + index * referenceSize, size: referenceSize) else {
                return nil
            }
            contents.append(object)
        }
        return contents
    }

    /// The big-endian number at a place; nil if it is not within the bytes, or too large.
    private static func number(_ bytes: [UInt8], at place: Int, size: Int) -> Int? {
        guard (1...8).contains(size), place <= bytes.count - size else { return nil }
        return Int(exactly: bytes[place..<(place + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
