import Crypto
import Foundation

/// The digests of the items of a full feed, by which an incremental feed finds what changed: 16 bytes for each item, in
/// the order of the numbers.
struct FeedDigests: Sendable {
    static let entryLength = 16
    private let bytes: [UInt8]

    /// Reads a file of digests.
    init(file: String) throws {
        var bytes: [UInt8] = []
        try readFeedFile(file) { bytes.append(contentsOf: $0) }
        self.bytes = bytes
    }

    /// An entry: the number and the first 8 bytes of the SHA-256 of the item's bytes in the index.
    static func entry(_ number: Int64, _ body: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) } + SHA256.hash(data: body).prefix(8)
    }

    private var count: Int { bytes.count / Self.entryLength }

    private func number(_ index: Int) -> Int64 {
        bytes[(index * Self.entryLength)..<(index * Self.entryLength + 8)].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The index of the first entry with this number or a higher one.
    func index(ofFirstFrom number: Int64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self.number(middle) < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether the entry is in the file. Advances `cursor` to the first entry with this number or a higher one, so call
    /// it with ascending numbers.
    func contains(_ entry: [UInt8], of number: Int64, from cursor: inout Int) -> Bool {
        while cursor < count, self.number(cursor) < number { cursor += 1 }
        let start = cursor * Self.entryLength
        return cursor < count && bytes[start..<(start + Self.entryLength)].elementsEqual(entry)
    }

    /// Whether the entry is in the file.
    func contains(_ entry: [UInt8], of number: Int64) -> Bool {
        var cursor = index(ofFirstFrom: number)
        return contains(entry, of: number, from: &cursor)
    }
}
