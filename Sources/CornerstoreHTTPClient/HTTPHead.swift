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

    /// What a line means.
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
        let text = String(decoding: line, as: UTF8.self).trimmingSuffix { $0.isNewline || $0 == " " || $0 == "\t" }
        if text.isEmpty {
            let status = status()
            defer { fields = [] }
            // No other protocol was asked for, so 101 is the last response.
            guard status >= 200 || status == 101 else { return .more }
            isComplete = true
            return .complete(HTTPHead(status: status, fields: fields))
        }
        guard let colon = text.firstIndex(of: ":"), !text.hasPrefix("HTTP/"), !text.hasPrefix(" "),
            !text.hasPrefix("\t")
        else { return .more }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        fields.append((String(text[..<colon]), String(value)))
        return .more
    }
}

extension String {
    fileprivate func trimmingSuffix(while condition: (Character) -> Bool) -> Substring {
        var end = endIndex
        while end > startIndex, condition(self[index(before: end)]) { end = index(before: end) }
        return self[..<end]
    }
}
