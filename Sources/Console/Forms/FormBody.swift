import CornerstoreEncoding
import Foundation
import HTTPSupport
import NIOCore

/// A form as a browser sends it: `application/x-www-form-urlencoded`, or `multipart/form-data` (RFC 7578) if it has a
/// field for a file.
struct FormBody: Sendable {
    /// The values of the fields, without the file. The first of several values with one name counts.
    private(set) var values: QueryParameters
    /// The bytes of the file; nil when none was chosen or when it is empty.
    private(set) var file: [UInt8]?

    /// The most parts of a body.
    static let mostParts = 32
    /// The largest head of a part, in bytes.
    static let largestHead = 4_096

    private typealias Part = (head: String, content: [UInt8])

    /// Reads a body.
    /// - Parameter type: the value of `Content-Type`.
    /// - Throws: ``HTTPProblem`` 400 for a malformed body, or for one with several files.
    init(_ body: ByteBuffer, type: String?) throws {
        guard let type, type.lowercased().hasPrefix("multipart/form-data") else {
            values = QueryParameters(query: String(buffer: body))
            return
        }
        guard let boundary = type.firstMatch(of: /;\s*boundary="?([0-9A-Za-z'()+_,.\/:=?-]{1,70})/.ignoresCase()) else {
            throw Self.malformed
        }
        var texts: [String: String] = [:]
        for part in try Self.parts(Array(buffer: body), boundary: boundary.1) {
            let disposition = /content-disposition:\s*form-data;\s*name="([^"]*)"(;\s*filename\*?=.*)?/.ignoresCase()
            let lines = part.head.split(separator: "\r\n")
            guard let field = lines.lazy.compactMap({ $0.wholeMatch(of: disposition) }).first else {
                throw Self.malformed
            }
            if field.2 == nil {
                let name = String(field.1)
                if texts[name] == nil { texts[name] = String(decoding: part.content, as: UTF8.self) }
            } else if !part.content.isEmpty {
                guard file == nil else {
                    throw HTTPProblem(
                        .badRequest, code: "invalid_request", message: "The form has several files. Choose one.")
                }
                file = part.content
            }
        }
        values = QueryParameters(texts)
    }

    private static var malformed: HTTPProblem {
        HTTPProblem(
            .badRequest, code: "invalid_request",
            message: "The form is incomplete or not multipart/form-data. Load its page again.")
    }

    /// The parts of a body (RFC 2046, section 5.1.1): the lines that say what a part is, and its content.
    /// - Throws: ``HTTPProblem`` 400 when the last boundary or the end of a head is missing, or a bound is exceeded.
    private static func parts(_ body: [UInt8], boundary: Substring) throws -> [Part] {
        // The line end before a boundary belongs to it. The first boundary may have none.
        let bytes = Array("\r\n".utf8) + body
        let (delimiter, lineEnd) = (Array("\r\n--\(boundary)".utf8), Array("\r\n".utf8))
        var parts: [Part] = []
        guard var place = find(delimiter, in: bytes[...]) else { throw malformed }
        while true {
            let rest = bytes[(place + delimiter.count)...]
            if rest.starts(with: Array("--".utf8)) { return parts }
            guard parts.count < mostParts, rest.starts(with: lineEnd),
                let headEnd = find(lineEnd + lineEnd, in: rest.prefix(largestHead)),
                let next = find(delimiter, in: bytes[(headEnd + 4)...])
            else { throw malformed }
            let head = String(decoding: bytes[rest.startIndex..<headEnd], as: UTF8.self)
            parts.append((head, Array(bytes[(headEnd + 4)..<next])))
            place = next
        }
    }

    /// The place of the first of some bytes; nil when they do not occur.
    private static func find(_ wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { all in
            wanted.withUnsafeBytes { wanted in
                guard let base = all.baseAddress, let sought = wanted.baseAddress else { return nil }
                var start = 0
                while start + wanted.count <= all.count,
                    let first = memchr(base + start, Int32(wanted[0]), all.count - wanted.count - start + 1)
                {
                    let place = UnsafeRawPointer(first) - base
                    if memcmp(first, sought, wanted.count) == 0 { return bytes.startIndex + place }
                    start = place + 1
                }
                return nil
            }
        }
    }
}
