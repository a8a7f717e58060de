/// The parameters in a URL's query, or in the body of a form.
public struct QueryParameters: Sendable {
    private var values: [String: String] = [:]

    /// The most parameters that are read.
    static let most = 100

    /// Decodes the text after a URL's question mark, or the body of a form. `+` means a space. Bytes that are not UTF-8
    /// are replaced. The first of several values with one name counts, and empty values count as well.
    public init(query: some StringProtocol) {
        for pair in Array(query.utf8).split(separator: UInt8(ascii: "&")).prefix(Self.most) {
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            let key = Self.decoded(name)
            guard values[key] == nil else { continue }
            values[key] = Self.decoded(pair[name.endIndex...].dropFirst())
        }
    }

    /// Creates parameters from names with their values.
    public init(_ values: [String: String]) { self.values = values }

    /// The names with their values.
    public var all: [String: String] { values }

    /// The value with a name; nil when the request has none.
    public subscript(_ name: String) -> String? { values[name] }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                if index + 1 < text.endIndex, let high = Hexadecimal.value(text[index]),
                    let low = Hexadecimal.value(text[index + 1])
                {
                    bytes.append(high << 4 | low)
                    index += 2
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
