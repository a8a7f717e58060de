import BlobStorage
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Store
import StoreWire

/// Serves the bytes of hosted content at the addresses that the store signs for one transaction each.
struct ContentController: Sendable {
    let store: Store
    /// The lowest rate at which a client may download.
    let patience: StallWatch.Rule

    func addRoutes(to router: Router<StoreRequestContext>) {
        for method in [HTTPRequest.Method.get, .head] {
            router.on("\(ContentAddress.prefix){digest}", method: method, use: download)
        }
    }

    @Sendable private func download(_ request: Request, _ context: StoreRequestContext) async throws -> Response {
        let fault = try await request.method == .get ? store.faults.next(.download) : nil
        if let fault, fault.cutAfter == nil { throw DeviceController.problem(fault) }
        let query = request.uri.queryParameters
        guard let digest = context.parameters.get("digest").flatMap({ BlobDigest($0) }),
            let expires = query["expires"].flatMap({ Int64($0) }),
            let transactionID = query["transaction"].flatMap({ TransactionID($0) }), let signature = query["signature"]
        else { throw StoreError(.forbidden, "This store did not make the address.") }
        let length: Int64
        let blobs: any BlobStore
        do {
            (length, blobs) = try await store.contentBlob(
                digest, expires: expires, transactionID: transactionID, signature: String(signature))
        } catch let error as StoreError where error.code == .noContent {
            throw HTTPProblem(.gone, code: error.code.rawValue, message: error.detail)
        }
        let entityTag = "\"\(digest)\""
        var headers: HTTPFields = [
            .contentType: "application/octet-stream", .acceptRanges: "bytes", .eTag: entityTag,
            .cacheControl: "private, immutable",
        ]
        headers[.reprDigest] = "sha-256=:\(digest.base64):"
        var range = 0..<length
        var status = HTTPResponse.Status.ok
        switch ByteRange(of: request, entityTag: entityTag, length: length) {
        case .whole: break
        case .part(let part):
            (range, status) = (part, .partialContent)
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(length)"
            headers[.contentType] = nil
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        let count = range.upperBound - range.lowerBound
        guard request.method == .get else {
            headers[.contentLength] = String(count)
            return Response(status: status, headers: headers)
        }
        let bytes = try await blobs.bytes(of: digest, in: range)
        return Response(
            status: status, headers: headers,
            body: body(bytes, count: count, cutAfter: fault?.cutAfter, context.channel))
    }

    /// Writes one piece at a time, each when the connection has taken the one before.
    private func body(
        _ bytes: BlobBytes, count: Int64, cutAfter: Int64?, _ channel: any Channel
    ) -> ResponseBody {
        ResponseBody(contentLength: Int(count)) { writer in
            try await StallWatch.during(channel, .outgoing, patience) { watch in
                var left = cutAfter ?? count
                for try await var piece in bytes {
                    if left < piece.readableBytes, let head = piece.readSlice(length: Int(left)) { piece = head }
                    left -= Int64(piece.readableBytes)
                    try await writer.write(piece)
                    try await watch.sent(piece.readableBytes, on: channel)
                    if cutAfter != nil, left == 0 { throw OrderedCut() }
                }
            }
            try await writer.finish(nil)
        }
    }

    /// Ends a response early, which closes the connection.
    private struct OrderedCut: Error {}
}

extension HTTPField.Name {
    /// The `Repr-Digest` field (RFC 9530).
    static let reprDigest = HTTPField.Name("repr-digest") ?? .eTag
}
