/// The status and header fields of a response.
struct HTTPHead: Sendable {
    var status: Int
    var fields: [(name: String, value: String)]
}

/// Collects the lines of a response's head. Interim responses (1xx) are skipped.
struct HTTPHeadReader {
    /// The largest head in bytes; interim responses and trailers count.
    private static let largest = 1 << 16

    private var size = 0
    private var fields: [(name: String, value: String)] = []
    /// Whether the head of the final response is complete.
    private(set) var isComplete = false

    /// The meaning of a line.
    enum Step {
        case more
        case complete(HTTPHead)
        case tooLarge
    }

    /// Adds a line with its end.
    ///
    /// - Parameter status: returns the status that the lines so far have.
    mutating func add(_ line: UnsafeRawBufferPointer, status: () -> Int) -> Step {
        size += line.count
        guard size <= Self.largest else { return .tooLarge }
        // Trailers come after the body.
        guard !isComplete else { return .more }
        if line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
            let status = status()
            defer { fields = [] }
            // No other protocol was asked for, so 101 is the last response.
            guard status >= 200 || status == 101 else { return .more }
            isComplete = true
            return .complete(HTTPHead(status: status, fields: fields))
        }
        // The status line and continued lines (RFC 9112, 5.2) are no fields.
        guard line.first?.isBlank == false, let colon = line.firstIndex(of: UInt8(ascii: ":")),
            !line.starts(with: "HTTP/".utf8)
        else { return .more }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmed
        fields.append((String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)))
        return .more
    }
}

extension UnsafeRawBufferPointer {
    /// Without blanks and line ends on both sides.
    fileprivate var trimmed: Slice<UnsafeRawBufferPointer> {
        guard let start = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[start...last]
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
