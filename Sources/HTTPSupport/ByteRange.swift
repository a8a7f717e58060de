import HTTPTypes
import Hummingbird

/// The bytes of a file that a request asks for (RFC 9110, section 14). A request for one range gets that range. A
/// request for several gets the whole file, as the RFC allows.
public enum ByteRange: Sendable, Equatable {
    /// The whole file.
    case whole
    /// The given bytes of the file: 206.
    case part(Range<Int64>)
    /// A range that contains no byte of the file: 416.
    case unsatisfiable

    /// Reads the range of a request for a file. A `HEAD` request ignores `Range` (RFC 9110, section 14.2).
    /// - Parameters:
    ///   - entityTag: the file's current entity tag, with its quotation marks.
    ///   - length: the file's length in bytes.
    public init(of request: Request, entityTag: String, length: Int64) {
        self.init(
            range: request.method == .head ? nil : request.headers[.range], ifRange: request.headers[.ifRange],
            entityTag: entityTag, length: length)
    }

    /// - Parameters:
    ///   - range: the request's `Range`.
    ///   - ifRange: the request's `If-Range`; when it is not the file's entity tag, the whole file is sent.
    ///   - entityTag: the file's current entity tag, with its quotation marks.
    ///   - length: the file's length in bytes.
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
            // A suffix range: the last bytes of the file.
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
