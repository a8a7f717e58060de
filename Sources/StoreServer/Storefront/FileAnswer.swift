import BlobStorage
import HTTPSupport
import HTTPTypes
import Hummingbird

/// Answers requests for a file: the whole file, one range of it, or that the client has it already.
struct FileAnswer: Sendable {
    let file: BlobFile
    /// The file's entity tag, with quotation marks.
    let entityTag: String
    /// The header fields of the file.
    let headers: HTTPFields
    /// The lowest rate at which a client may download.
    let patience: StallWatch.Rule

    init(_ file: BlobFile, entityTag: String, headers: HTTPFields, patience: StallWatch.Rule) {
        (self.file, self.entityTag, self.patience) = (file, entityTag, patience)
        var headers = headers
        headers[.acceptRanges] = "bytes"
        headers[.eTag] = entityTag
        headers[.xContentTypeOptions] = "nosniff"
        self.headers = headers
    }

    /// The response to a `GET` or `HEAD` request.
    func response(to request: Request, _ context: StoreRequestContext) throws -> Response {
        var headers = headers
        if request.isFresh(entityTag) { return Response(status: .notModified, headers: headers) }
        var range = 0..<file.size
        var status = HTTPResponse.Status.ok
        switch ByteRange(of: request, entityTag: entityTag, length: file.size) {
        case .whole: break
        case .part(let part):
            (range, status) = (part, .partialContent)
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)"
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(file.size)"
            headers[.contentType] = nil
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        let count = Int(range.upperBound - range.lowerBound)
        guard request.method == .get else {
            headers[.contentLength] = String(count)
            return Response(status: status, headers: headers)
        }
        let (bytes, channel) = (try file.bytes(in: range), context.channel)
        return Response(
            status: status, headers: headers,
            body: ResponseBody(contentLength: count) { [patience] writer in
                try await StallWatch.during(channel, .outgoing, patience) { watch in
                    for try await piece in bytes {
                        try await writer.write(piece)
                        try await watch.sent(piece.readableBytes, on: channel)
                    }
                }
                try await writer.finish(nil)
            })
    }
}
