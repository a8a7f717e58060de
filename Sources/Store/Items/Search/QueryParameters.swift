/// The parameters of a request to `/search` or `/lookup`.
public struct QueryParameters: Sendable {
    private var values: [String: String] = [:]

    /// The most parameters that are read.
    static let most = 100

    /// Decodes the text after a URL's question mark, or the body of a form. `+` means a space. Bytes that are not UTF-8
    /// are replaced. The first of several values with one name counts, and empty values count as well.
    public init(query: some StringProtocol) {
        for pair in query.split(separator: "&").prefix(Self.most) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.decoded(parts[0])
            guard values[name] == nil else { continue }
            values[name] = parts.count == 2 ? Self.decoded(parts[1]) : ""
        }
    }

    /// The value with a name; nil when the request has none.
    public subscript(_ name: String) -> String? { values[name] }

    private static func decoded(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        // At most two bytes that were read and turned out not to be digits.
        var waiting: [UInt8] = []
        func next() -> UInt8? { waiting.isEmpty ? rest.next() : waiting.removeFirst() }
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = [next(), next()].compactMap { $0 }
                if digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
                    digits[0] != UInt8(ascii: "+")
                {
                    bytes.append(value)
                } else {
                    bytes.append(byte)
                    waiting = digits + waiting
                }
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
