import CornerstoreHTTPClient

/// The meaning of the head of the server's response for the bytes that follow.
enum DownloadAnswer {
    /// The rest of the file, from where the part ends.
    case rest
    /// The whole file, with its strong entity tag if the server sent one.
    case whole(entityTag: String?)
    case failed(ContentDownloadError)

    /// Reads the head of a response. A response that contradicts `offset`, where the part ends, or `length`, the length
    /// of the file, is refused.
    init(_ response: HTTPResponse, offset: Int64, length: Int64) {
        let status = response.status
        let announced = response.first("Content-Length").flatMap(Int64.init)
        switch status {
        case 200:
            guard announced == nil || announced == length else {
                self = .failed(.wrongLength(announced, expected: length))
                return
            }
            self = .whole(entityTag: response.first("ETag").flatMap(Self.strong))
        case 206:
            let range = response.first("Content-Range")
            guard offset > 0, range == "bytes \(offset)-\(length - 1)/\(length)",
                announced == nil || announced == length - offset
            else {
                self = .failed(
                    ContentDownloadError(
                        .wrongLength, "the server sent another range than the requested one", status: status))
                return
            }
            self = .rest
        case 416:
            self = .failed(
                ContentDownloadError(
                    .wrongLength, "the server's file is shorter than the part that was downloaded", status: status))
        // A bucket answers 404 for an object that was removed.
        case 403, 404, 410:
            self = .failed(
                ContentDownloadError(
                    .addressExpired, "the download's address has expired; ask for another", status: status))
        case 408, 429, 500...:
            self = .failed(
                ContentDownloadError(
                    .unreachable, "the server answered \(status); try again later", status: status))
        default:
            self = .failed(
                ContentDownloadError(.refused, "the server answered \(status) to the download", status: status))
        }
    }

    /// The entity tag if it may be used in `If-Range` (RFC 9110, 13.1.5): strong, in quotes, and of a reasonable
    /// length.
    private static func strong(_ tag: String) -> String? {
        guard tag.hasPrefix("\""), tag.hasSuffix("\""), (2...512).contains(tag.utf8.count),
            tag.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return tag
    }
}
