import HTTPTypes
import Hummingbird

/// Which bytes of a file a request wants (RFC 9110, section 14). One range is answered; of several, the whole file is, as the RFC allows.
public enum ByteRange: Sendable, Equatable {
    case whole
    case part(Range<Int64>)
    /// None of the bytes are there: 416.
    case unsatisfiable

    /// What a request for a file wants. A `HEAD` is answered as a `GET` without `Range` would be (RFC 9110, section 14.2).
    /// - Parameters:
    ///   - entityTag: of the file as it is, with its quotation marks.
    ///   - length: of the file, in bytes.
    public init(of request: Request, entityTag: String, length: Int64) {
        self.init(
            range: request.method == .head ? nil : request.headers[.range], ifRange: request.headers[.ifRange],
            entityTag: entityTag, length: length)
    }

    /// - Parameters:
    ///   - range: the request's `Range`.
    ///   - ifRange: its `If-Range`; another file than that one is answered whole.
    ///   - entityTag: of the file as it is, with its quotation marks.
    ///   - length: of the file, in bytes.
    init(range: String?, ifRange: String?, entityTag: String, length: Int64) {
        self = .whole
        guard let range, ifRange.map({ $0 == entityTag }) ?? true, range.lowercased().hasPrefix("bytes=") else {
            return
        }
        let ends = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map {
            $0.trimmingPrefix(while: { $0 == " " })
        }
        guard ends.count == 2 else { return }
        switch (Self.number(ends[0]), Self.number(ends[1])) {
        case (nil, let last?) where ends[0].isEmpty:
            // The last so many bytes.
            self = last == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - last)..<length)
        case (let first?, nil) where ends[1].isEmpty:
            self = first < length ? .part(first..<length) : .unsatisfiable
        case (let first?, let last?) where first <= last:
            self = first < length ? .part(first..<(min(last, length - 1) + 1)) : .unsatisfiable
        default: return
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
